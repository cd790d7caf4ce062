"""The record of every operation: written, read, followed, and told to Jupyter's event system."""
