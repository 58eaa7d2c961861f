-- How often each run preempted requests, by the counters of its engine.
SELECT run_id, max(preemptions) AS preemptions FROM run_totals_of($run_ids) GROUP BY run_id
