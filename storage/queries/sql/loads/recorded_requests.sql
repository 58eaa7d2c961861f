-- The requests of recordings that stored the parts of their prompts, without the times of the answers' pieces.
SELECT * REPLACE (NULL AS chunk_us, NULL AS chunk_tokens)
FROM requests_of($run_ids) WHERE json_exists(extra, '$.prefix') ORDER BY sent_at, request_id
