-- What refers to some runs, so that they cannot be deleted.
FROM run_references($now) WHERE list_contains($run_ids, run_id) ORDER BY ALL
