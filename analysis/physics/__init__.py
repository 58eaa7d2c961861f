"""What memory, bandwidth, speculation, energy and start-up allow: pure formulas, each with its source and caveats."""
