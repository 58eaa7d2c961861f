"""Suites of cases with a right answer, tools and pictures, and what becomes of each case."""
