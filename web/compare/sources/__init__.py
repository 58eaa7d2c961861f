"""Where the numbers of a comparison come from: sources, statements, and what others published and claim."""
