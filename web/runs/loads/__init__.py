"""Loads on a run's server: put there, watched while they work, and what came of them."""
