"""Turns pasted text into the argv of one server; nothing in a paste is ever evaluated."""
