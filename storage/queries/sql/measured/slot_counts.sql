-- The number of slots of each run's server, each of which holds one prompt; engines without slots have no rows.
SELECT run_id, max(slot) + 1 AS slots FROM slot_samples_of($run_ids) GROUP BY run_id
