-- Finished runs that may repeat one of some runs: the same configured fingerprint and workload, the newest first.
FROM raw.runs
WHERE list_contains($fingerprints, fingerprint) AND state = 'finished' AND NOT list_contains($run_ids, id)
    AND list_contains($workloads, coalesce(workload->>'$.name', ''))
ORDER BY id DESC LIMIT $most
