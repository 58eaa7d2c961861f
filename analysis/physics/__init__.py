"""Limits set by memory, bandwidth, speculation, energy and start-up: pure formulas with sources and caveats."""
