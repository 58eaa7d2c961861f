-- The newest version of the notes of these runs.
FROM run_notes_of($run_ids)
