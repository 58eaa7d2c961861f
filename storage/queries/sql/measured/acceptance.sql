-- Acceptance of each run over its whole life, from one source.
WITH intervals AS (
    FROM counter_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
)
FROM best_acceptance_in('intervals', $run_ids)
