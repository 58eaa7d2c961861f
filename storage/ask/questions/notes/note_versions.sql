-- Every version of what people said of some runs.
FROM raw.run_notes WHERE list_contains($run_ids, run_id) ORDER BY run_id, version
