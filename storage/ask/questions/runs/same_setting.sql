-- Finished runs of the engines, workloads and machines of some runs, the newest first.
FROM raw.runs
WHERE state = 'finished' AND NOT list_contains($run_ids, id) AND list_contains($machines, machine_id)
    AND list_contains($engines, config->>'$.engine')
    AND list_contains($hashes, coalesce(workload->>'$.prompt_set_hash', ''))
ORDER BY id DESC LIMIT $most
