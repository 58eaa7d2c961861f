"""Sessions of coding agents: which request continues which, what of its prompt the server computed again, and why."""
