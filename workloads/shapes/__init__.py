"""Shapes of load, each a plan of requests: concurrency, lengths, arrival times."""
