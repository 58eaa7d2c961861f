-- Arrival times and token counts of the streamed chunks in one phase of these loads: of one request, or of all
-- requests, at most $most per run.
SELECT run_id, load_id, request_id, chunk_us, chunk_tokens
FROM requests_of($run_ids)
WHERE (load_id IS NULL OR list_contains($load_ids, load_id)) AND phase_index = $phase_index
    AND ($sequence IS NULL OR sequence = $sequence)
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY sent_at) <= $most
