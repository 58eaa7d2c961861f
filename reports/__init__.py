"""What is known of a run: the store's answers and the analysis put together, without a browser."""
