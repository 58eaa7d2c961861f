-- Tokens of each run of which only the sum is known: counted between looks that were too far apart, or contradict each
-- other. Of a run's sources the one that saw the most of them.
SELECT run_id, unseen_tokens AS tokens, unseen_s AS seconds, decode_tokens AS of_tokens
FROM run_totals_of($run_ids) WHERE unseen_tokens > 0
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY unseen_tokens DESC, definition) = 1
