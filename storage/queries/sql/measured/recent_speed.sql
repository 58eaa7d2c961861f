-- Decode tok/s of each run over the last $seconds, oldest first; from its log only if there is no other source.
SELECT run_id, decode_tps FROM run_samples_since(now() - to_seconds($seconds), run_ids := $run_ids)
WHERE activity IS NOT NULL
QUALIFY source <> 'log' OR bool_and(source = 'log') OVER (PARTITION BY run_id)
ORDER BY run_id, ts
