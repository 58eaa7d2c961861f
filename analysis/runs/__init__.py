"""Analyses of one run: its windows, conditions, effective settings, and looping text."""
