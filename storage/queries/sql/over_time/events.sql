-- The events of a run, oldest first. If there are more than $most, states, loads and notes are kept first, then
-- failures and phases, then warnings; within one group the newest. Startup facts have a query of their own
-- (startup_facts).
WITH ranked_events AS (
    SELECT ts, kind, text, "offset", count(*) OVER () AS of_all, row_number() OVER (
        ORDER BY CASE WHEN kind IN ('state', 'workload', 'refused', 'audit') THEN 1
                      WHEN kind IN ('failure', 'outage', 'phase') THEN 2 ELSE 3 END,
                 ts DESC, "offset" DESC
    ) AS place
    FROM events_of($run_ids) WHERE kind <> 'startup'
)
SELECT ts, kind, text, of_all FROM ranked_events WHERE place <= $most ORDER BY ts, "offset"
