"""What serves at an address, and what its endpoints tell: counters, slots, latencies."""
