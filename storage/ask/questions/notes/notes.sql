-- What people say of some runs, in the newest version.
FROM run_notes_of($run_ids)
