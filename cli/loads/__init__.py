"""Commands that put a server under load, or record the load that others put it under."""
