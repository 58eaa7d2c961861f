"""Caches of the computed reports of finished runs, in memory and on disk."""
