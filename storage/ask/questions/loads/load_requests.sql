-- The requests of the runs' loads. The times of their pieces, which are most of the rows' size, are asked for where
-- requests ran side by side: alone, the beginning and the end tell a stream's speed.
SELECT * REPLACE (
    CASE WHEN $with_pieces AND concurrency > 1 AND phase = 'measure' THEN chunk_us END AS chunk_us,
    CASE WHEN $with_pieces AND concurrency > 1 AND phase = 'measure' THEN chunk_tokens END AS chunk_tokens
)
FROM requests_of($run_ids) ORDER BY sent_at, request_id
