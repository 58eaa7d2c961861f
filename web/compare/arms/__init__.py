"""The arms of a comparison: their runs, differences and further repeats, and adopting one of them."""
