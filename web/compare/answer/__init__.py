"""The answer of a comparison: its sentence and cards, its breakdown, and the guard that judges comparability."""
