"""Rankings by viewpoint: a table, and charts of one viewpoint against another."""
