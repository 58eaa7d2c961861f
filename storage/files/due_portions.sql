-- Portions of ended runs, and large enough old ones of live runs and of no run.
SELECT t.run_id, max(t.{column}) AS until FROM raw.{table} t
JOIN raw.runs r ON r.id = t.run_id AND r.ended_at < $settled GROUP BY t.run_id
UNION ALL
SELECT t.run_id, max(t.{column}) AS until FROM raw.{table} t
LEFT JOIN raw.runs r ON r.id = t.run_id
WHERE t.{column} < $aged AND (r.ended_at IS NULL OR r.ended_at >= $settled)
GROUP BY t.run_id HAVING count(*) >= $live_rows
