"""Reads recipes of vLLM's perf-eval (YAML) as studies; docs/studies.md names the source of the format."""
