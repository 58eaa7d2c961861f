"""Sources of a comparison's numbers: evidence, SQL statements, and published numbers and claims."""
