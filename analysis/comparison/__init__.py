"""Grouping of runs into arms and server starts, and differences between arms."""
