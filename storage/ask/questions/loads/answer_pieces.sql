-- When the pieces of the answers of one phase of these loads came, and with how many tokens: of one request, or of all
-- of them, the same number of each run at most.
SELECT run_id, load_id, request_id, chunk_us, chunk_tokens
FROM requests_of($run_ids)
WHERE (load_id IS NULL OR list_contains($load_ids, load_id)) AND phase_index = $phase_index
    AND ($sequence IS NULL OR sequence = $sequence)
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY sent_at) <= $most
