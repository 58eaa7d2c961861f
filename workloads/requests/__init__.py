"""Sends, reads, measures and records one request."""
