"""Commands for results: comparisons, reports, studies, published claims, notes."""
