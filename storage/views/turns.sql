-- The recorded and replayed requests of agents, each with the request that it continues, and the parts of their prompts.
-- A recording stores hashes and sizes of parts, no text; analysis/sessions/ compares the parts.

CREATE OR REPLACE MACRO not_negative(number) AS CASE WHEN number IS NOT NULL THEN greatest(0, number) END;

CREATE OR REPLACE MACRO turns_of(run_ids) AS TABLE
WITH agent_requests AS (
    SELECT
        *, extra->>'$.prefix.session' AS session, extra->>'$.prefix.follows' AS follows,
        TRY_CAST(extra->>'$.cached_prompt_tokens' AS BIGINT) AS cached_tokens
    FROM requests_of(run_ids) WHERE json_exists(extra, '$.prefix')
), earlier_requests AS (
    SELECT run_id, request_id AS follows, sent_at, total_ms, prompt_tokens FROM agent_requests
)
SELECT
    run_id, turn.load_id, turn.session, turn.request_id, turn.follows, turn.sequence, turn.sent_at,
    CASE WHEN pause_s >= 0 THEN pause_s END AS pause_s,
    turn.prompt_tokens, turn.cached_tokens,
    CASE WHEN turn.cached_tokens IS NULL THEN 'no_cached_count' END AS cached_reason,
    not_negative(turn.prompt_tokens - turn.cached_tokens) AS computed_tokens,
    not_negative(before.prompt_tokens - turn.cached_tokens) AS recomputed_tokens,
    turn.prompt_tokens + turn.completion_tokens AS context_tokens,
    turn.completion_tokens, turn.draft_tokens, turn.accepted_tokens, turn.ttft_ms, turn.decode_ms, turn.total_ms,
    turn.finish_reason, turn.error_kind
FROM agent_requests turn LEFT JOIN earlier_requests before USING (run_id, follows),
    LATERAL (SELECT epoch(turn.sent_at) - epoch(before.sent_at) - coalesce(before.total_ms, 0) / 1000 AS pause_s);

CREATE OR REPLACE VIEW turns AS FROM turns_of(NULL::VARCHAR[]);

CREATE OR REPLACE MACRO prompt_parts_of(run_ids) AS TABLE
WITH part_entries AS (
    SELECT
        run_id, load_id, request_id,
        unnest(map_entries(json_transform(
            extra->'$.prefix.parts', '"MAP(VARCHAR, STRUCT(kind VARCHAR, name VARCHAR, bytes BIGINT, pieces VARCHAR))"'
        ))) AS entry
    FROM requests_of(run_ids) WHERE json_exists(extra, '$.prefix.parts')
)
SELECT
    run_id, load_id, entry.key AS digest, entry.value.kind AS kind, entry.value.name AS name,
    entry.value.bytes AS bytes, entry.value.pieces AS pieces, request_id AS first_request_id
FROM part_entries;

CREATE OR REPLACE VIEW prompt_parts AS FROM prompt_parts_of(NULL::VARCHAR[]);

COMMENT ON MACRO TABLE turns_of IS 'turns_of(run_ids): turns of these runs.';
COMMENT ON VIEW turns IS 'One recorded or replayed request of an agent per row, with the request that it continues: what of its prompt came from the cache and what was computed. docs/agents.md explains it.';
COMMENT ON COLUMN turns.run_id IS 'the run''s id';
COMMENT ON COLUMN turns.load_id IS 'the id of the recording or replay';
COMMENT ON COLUMN turns.session IS 'the first request of its session';
COMMENT ON COLUMN turns.request_id IS 'as in requests';
COMMENT ON COLUMN turns.follows IS 'the earlier request that it continues; null: it begins its session';
COMMENT ON COLUMN turns.sequence IS 'index in the recording or replay, from 0';
COMMENT ON COLUMN turns.sent_at IS 'when it was sent';
COMMENT ON COLUMN turns.pause_s IS 'seconds from the end of the followed request: of tools or of the person; null: none, or they overlap';
COMMENT ON COLUMN turns.prompt_tokens IS 'tokens';
COMMENT ON COLUMN turns.cached_tokens IS 'prompt tokens from the cache, as the server reports';
COMMENT ON COLUMN turns.cached_reason IS 'why cached_tokens is null (docs/reasons.md)';
COMMENT ON COLUMN turns.computed_tokens IS 'prompt tokens that were not in the cache';
COMMENT ON COLUMN turns.recomputed_tokens IS 'of these, those of the followed request''s prompt at most: that prompt less the cached tokens';
COMMENT ON COLUMN turns.context_tokens IS 'prompt and answer together';
COMMENT ON COLUMN turns.completion_tokens IS 'tokens of the answer';
COMMENT ON COLUMN turns.draft_tokens IS 'tokens drafted for it';
COMMENT ON COLUMN turns.accepted_tokens IS 'accepted tokens of these';
COMMENT ON COLUMN turns.ttft_ms IS 'milliseconds from sending to the first token';
COMMENT ON COLUMN turns.decode_ms IS 'milliseconds from the first token to the end';
COMMENT ON COLUMN turns.total_ms IS 'milliseconds from sending to the end';
COMMENT ON COLUMN turns.finish_reason IS 'as reported by the server';
COMMENT ON COLUMN turns.error_kind IS 'null: answered';

COMMENT ON MACRO TABLE prompt_parts_of IS 'prompt_parts_of(run_ids): prompt_parts of these runs.';
COMMENT ON VIEW prompt_parts IS 'The distinct parts of recorded and replayed prompts: settings, tools, system blocks and blocks of messages, as keyed hashes without text.';
COMMENT ON COLUMN prompt_parts.run_id IS 'the run''s id';
COMMENT ON COLUMN prompt_parts.load_id IS 'the id of the recording, which has a key of its own, so that hashes of two cannot be compared; or of the replay';
COMMENT ON COLUMN prompt_parts.digest IS 'keyed hash of kind, name and content';
COMMENT ON COLUMN prompt_parts.kind IS 'setting, tool, system, text, image, thinking, tool_call or tool_result';
COMMENT ON COLUMN prompt_parts.name IS 'of a tool or setting; the role of a text; null: none';
COMMENT ON COLUMN prompt_parts.bytes IS 'size as sent';
COMMENT ON COLUMN prompt_parts.pieces IS 'hashes of its pieces of 256 bytes, 8 characters each';
COMMENT ON COLUMN prompt_parts.first_request_id IS 'the first request that has it';
