"""`./pitwall doctor`: looks for what keeps Pitwall or its servers from working on this machine."""
