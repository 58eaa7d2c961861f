"""The recorder: a proxy that measures what other clients send to a run's server."""
