-- Finished runs on the same engines, workloads and machines as these runs, newest first.
FROM raw.runs
WHERE shown_state_of(state, kind, started_at, ended_at) = 'finished' AND NOT list_contains($run_ids, id) AND list_contains($machines, machine_id)
    AND list_contains($engines, config->>'$.engine')
    AND list_contains($hashes, coalesce(workload->>'$.prompt_set_hash', ''))
ORDER BY id DESC LIMIT $most
