-- Acceptance of each run over all its life, of one source.
WITH counted_now AS (
    FROM counted(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
)
FROM best_acceptance_in('counted_now', $run_ids)
