"""The set of series itself."""
