-- Requests running and waiting at each reading of the counters during the phases of the runs' loads, over all ranks, and
-- the start of the server's process as it states it.
SELECT load_id, phase_index, epoch(counters.ts) - epoch(began_at) AS since_phase_s,
    CASE WHEN count(requests_running) = count(*) THEN sum(requests_running) END AS running,
    CASE WHEN count(requests_waiting) = count(*) THEN sum(requests_waiting) END AS waiting,
    max(process_start_s) AS process_start_s
FROM counter_samples_of($run_ids) counters JOIN load_phases_of($run_ids) phases
    ON counters.run_id = phases.run_id AND counters.ts BETWEEN began_at AND began_at + to_seconds(duration_s)
WHERE kind = 'measure'
GROUP BY load_id, phase_index, began_at, counters.ts
ORDER BY load_id, phase_index, counters.ts
