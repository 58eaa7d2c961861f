"""The shapes of load, each a plan of requests: how many at once, how long, when they arrive."""
