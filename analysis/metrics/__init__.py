"""Definitions of all numbers that Pitwall shows; they compute nothing themselves."""
