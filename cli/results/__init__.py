"""Commands about what was measured: comparisons, reports, studies, published claims, notes."""
