-- The runs with these ids.
FROM raw.runs WHERE list_contains($run_ids, id)
