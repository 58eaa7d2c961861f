"""Who is best by which viewpoint, as a table and as charts of two of them."""
