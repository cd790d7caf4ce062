"""Search: one question to many providers, each with its own contract, and one form of answer."""
