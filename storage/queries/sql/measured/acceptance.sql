-- Acceptance of each run over its whole life, from one source.
WITH counted_now AS (
    FROM counted(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
)
FROM best_acceptance_in('counted_now', $run_ids)
