"""Commands that put a server under load, or record the requests of other clients."""
