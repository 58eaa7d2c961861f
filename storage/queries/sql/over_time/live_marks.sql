-- The marks on a chart over time: loads as they begin, phases, load ends, outages, and problems: restarts (if the
-- engine reports its process start), and the onset of preemptions, hardware throttling and looping answers. A problem
-- that continues, or recurs within $apart_s, is marked once. Oldest first.
WITH phases AS (
    SELECT run_id, load_id, began_at, ts AS ended_at, title, phase_index FROM load_phases_of($run_ids)
), load_starts AS (
    SELECT run_id, load_id, ts, workload, planned_phases FROM loads_of($run_ids)
    WHERE source_name IS NULL AND tool <> 'declared'
), load_ends AS (
    SELECT load_starts.run_id, max(ended_at) AS ts, any_value(workload) AS workload
    FROM load_starts JOIN phases USING (run_id, load_id)
    GROUP BY load_starts.run_id, load_id HAVING count(*) >= any_value(planned_phases)
), levels AS (
    -- When each server process was first seen with each count, without a window over all scrapes (86,400 per day).
    SELECT run_id, definition, engine_index, process_start_s, preemptions_total, min(ts) AS ts
    FROM counter_samples_of($run_ids) GROUP BY ALL
), problems AS (
    SELECT run_id, min(ts) AS ts, 'restart' AS kind FROM levels GROUP BY run_id, process_start_s
    QUALIFY process_start_s <> lag(process_start_s) OVER (PARTITION BY run_id ORDER BY min(ts))
    UNION ALL SELECT run_id, ts, 'preemption' FROM levels
    QUALIFY preemptions_total > min(preemptions_total)
        OVER (PARTITION BY run_id, definition, engine_index, process_start_s)
    UNION ALL SELECT run_id, ts, 'throttle' FROM gpu_samples_of($run_ids) WHERE throttle_reasons & $hardware <> 0
    UNION ALL SELECT run_id, sent_at + to_milliseconds(total_ms::BIGINT), 'collapse' FROM requests_of($run_ids)
    WHERE extra->>'$.collapse.verdict' = 'collapsed' AND total_ms IS NOT NULL
), onsets AS (
    SELECT run_id, ts, kind FROM problems
    QUALIFY coalesce(epoch(ts) - epoch(lag(ts) OVER (PARTITION BY run_id, kind ORDER BY ts)) > $apart_s, true)
), marks AS (
    SELECT run_id, ts, 'load' AS kind, workload AS text FROM load_starts
    UNION ALL SELECT run_id, began_at, 'phase', title FROM phases JOIN load_starts USING (run_id, load_id)
    UNION ALL SELECT run_id, ts, 'load_end', workload FROM load_ends
    UNION ALL SELECT run_id, ts, kind, text FROM events_of($run_ids) WHERE kind = 'outage'
    UNION ALL SELECT run_id, ts, kind, '' FROM onsets
)
SELECT run_id, epoch(ts) AS t, kind, text FROM marks
QUALIFY row_number() OVER (PARTITION BY run_id, kind ORDER BY ts DESC) <= $most ORDER BY run_id, ts, kind
