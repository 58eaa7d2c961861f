"""One request: sent, read, measured and written down."""
