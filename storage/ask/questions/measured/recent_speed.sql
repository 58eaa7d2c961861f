-- Decode tok/s of the last $seconds of each run, the oldest first: of its log only where nothing else speaks.
SELECT run_id, decode_tps FROM run_samples_since(now() - to_seconds($seconds), run_ids := $run_ids)
WHERE activity IS NOT NULL
QUALIFY source <> 'log' OR bool_and(source = 'log') OVER (PARTITION BY run_id)
ORDER BY run_id, ts
