"""Recorder: a proxy that measures the requests of other clients to a run's server."""
