-- The requests of the runs' loads. Chunk times make up most of a row's size, so they are read only for concurrent
-- requests; for a single stream the first and last token are enough.
SELECT * REPLACE (
    CASE WHEN $with_pieces AND concurrency > 1 AND phase = 'measure' THEN chunk_us END AS chunk_us,
    CASE WHEN $with_pieces AND concurrency > 1 AND phase = 'measure' THEN chunk_tokens END AS chunk_tokens
)
FROM requests_of($run_ids) ORDER BY sent_at, request_id
