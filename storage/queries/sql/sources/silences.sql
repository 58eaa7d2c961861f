-- Tokens of each run of which only the sum is known, because two scrapes were too far apart or contradict each other,
-- and intervals of which not even that is known. With several sources, the one that missed the most.
SELECT
    run_id, coalesce(unseen_tokens, 0) AS tokens, coalesce(unseen_s, 0) AS seconds, decode_tokens AS of_tokens,
    lost_intervals
FROM run_totals_of($run_ids) WHERE unseen_tokens > 0 OR lost_intervals > 0
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY tokens DESC, lost_intervals DESC, definition) = 1
