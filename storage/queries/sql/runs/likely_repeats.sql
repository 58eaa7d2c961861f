-- Finished runs that may repeat one of these: the same configured fingerprint and workload, newest first.
FROM raw.runs
WHERE list_contains($fingerprints, fingerprint) AND shown_state_of(state, kind, started_at, ended_at) = 'finished' AND NOT list_contains($run_ids, id)
    AND list_contains($workloads, coalesce(workload->>'$.name', ''))
ORDER BY id DESC LIMIT $most
