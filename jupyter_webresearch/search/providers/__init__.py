"""The providers that come with the package, one module each."""
