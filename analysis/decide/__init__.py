"""Deciding between configurations: the best by viewpoint, the frontier of two viewpoints, what works where."""
