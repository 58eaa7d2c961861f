-- What happened to a run, the oldest first. Of more than can be shown its course stays (states, loads, people), then
-- failures and phases, then warnings; of one importance the newest. What its log says once at the start is asked alone
-- (startup_facts).
WITH ranked AS (
    SELECT ts, kind, text, "offset", count(*) OVER () AS of_all, row_number() OVER (
        ORDER BY CASE WHEN kind IN ('state', 'workload', 'refused', 'audit') THEN 1
                      WHEN kind IN ('failure', 'outage', 'phase') THEN 2 ELSE 3 END,
                 ts DESC, "offset" DESC
    ) AS place
    FROM events_of($run_ids) WHERE kind <> 'startup'
)
SELECT ts, kind, text, of_all FROM ranked WHERE place <= $most ORDER BY ts, "offset"
