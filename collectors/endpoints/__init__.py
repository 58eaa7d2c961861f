"""What serves at an address, and what its endpoints report: counters, slots, latencies."""
