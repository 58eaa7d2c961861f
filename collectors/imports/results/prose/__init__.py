"""Readers of published and pasted text: tables, names and numbers as people write them."""
