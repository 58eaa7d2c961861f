"""Reports as files: one HTML page, Markdown, and tables."""
