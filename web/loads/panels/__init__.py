"""Panels that start, watch and control loads, and show their results."""
