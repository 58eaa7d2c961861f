-- The number of preempted requests of each run, by its engine's counters.
SELECT run_id, max(preemptions) AS preemptions FROM run_totals_of($run_ids) GROUP BY run_id
