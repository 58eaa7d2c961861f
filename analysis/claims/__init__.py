"""Whether what is claimed follows from the numbers beside it: recomputed from rows, never typed in."""
