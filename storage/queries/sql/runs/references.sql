-- The references to these runs, which prevent their deletion.
FROM run_references($now) WHERE list_contains($run_ids, run_id) ORDER BY ALL
