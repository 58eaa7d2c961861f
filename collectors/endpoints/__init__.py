"""Identification of servers, and readers of their endpoints: counters, slots, latencies."""
