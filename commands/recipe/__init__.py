"""Recipes of vLLM's perf-eval (YAML), read as studies. docs/studies.md names the source of the format."""
