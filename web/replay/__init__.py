"""Finished runs played again side by side."""
