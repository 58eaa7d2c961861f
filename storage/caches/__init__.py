"""Caches of query results and of the summary lines of finished runs."""
