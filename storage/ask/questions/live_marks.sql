-- What a chart over time marks of the runs: loads as they begin, phases, the end of a load, outages; oldest first.
WITH phases AS (
    SELECT run_id, load_id, began_at, ts AS ended_at, title, phase_index FROM load_phases_of($run_ids)
), begun AS (
    SELECT run_id, load_id, ts, workload, planned_phases FROM loads_of($run_ids)
    WHERE source_name IS NULL AND tool <> 'declared'
), ended AS (
    SELECT begun.run_id, max(ended_at) AS ts, any_value(workload) AS workload
    FROM begun JOIN phases USING (run_id, load_id)
    GROUP BY begun.run_id, load_id HAVING count(*) >= any_value(planned_phases)
), marks AS (
    SELECT run_id, ts, 'load' AS kind, workload AS text FROM begun
    UNION ALL SELECT run_id, began_at, 'phase', title FROM phases JOIN begun USING (run_id, load_id)
    UNION ALL SELECT run_id, ts, 'load_end', workload FROM ended
    UNION ALL SELECT run_id, ts, kind, text FROM events_of($run_ids) WHERE kind = 'outage'
)
SELECT run_id, epoch(ts) AS t, kind, text FROM marks
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY ts DESC) <= $most ORDER BY run_id, ts, kind
