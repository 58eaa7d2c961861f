"""Reports on runs, comparisons and studies: combines the store's rows with the analysis, without a browser."""
