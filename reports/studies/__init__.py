"""How a study stands, and what its runs predict of other values."""
