"""A report in files: one self-contained page, Markdown, and the tables as CSV and Parquet."""
