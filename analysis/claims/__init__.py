"""Checks of published claims against the numbers printed with them: recomputed from rows, never typed in."""
