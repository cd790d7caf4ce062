"""Bytes to text, in processes that can be killed."""
