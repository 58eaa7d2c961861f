"""The recorder: a pass-through that measures what others send to a run's server."""
