-- Acceptance of each run over all its life, of each of its sources: ratios of sums. Where nothing of what was drafted
-- got accepted the length is 1, however many drafts that were.

CREATE OR REPLACE MACRO acceptance_of(run_ids) AS TABLE
WITH sums AS (
    SELECT
        run_id, definition, 'counter' AS source, sum_of_all(drafts) AS drafts, sum(accepted) AS accepted,
        sum_of_all(draft_tokens) AS draft_tokens, add_lists(list(accepted_per_pos)) AS accepted_per_pos
    FROM counter_progress(NULL::TIMESTAMPTZ, run_ids) WHERE accepted IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT run_id, definition, 'log', sum_of_all(drafts), sum(accepted), sum_of_all(draft_tokens), NULL
    FROM log_drafts(run_ids) GROUP BY ALL
)
SELECT
    run_id, definition, source, coalesce(draft_tokens, drafts) AS drafted,
    CASE WHEN accepted = 0 AND drafted > 0 THEN 1 ELSE acceptance_length_of(accepted, drafts) END AS acceptance_length,
    acceptance_rate_of(accepted, draft_tokens) AS acceptance_rate,
    per_position_of(accepted_per_pos, drafts) AS per_position
FROM sums;
