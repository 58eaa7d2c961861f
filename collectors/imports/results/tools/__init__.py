"""Readers of benchmark tools' files, one module per tool or format."""
