"""Suites of cases with a right answer (tool calls, pictures), and their results."""
