"""Additional processes of a load generator, for loads that need more than one CPU core."""
