-- Every version of the notes of these runs.
FROM raw.run_notes WHERE list_contains($run_ids, run_id) ORDER BY run_id, version
