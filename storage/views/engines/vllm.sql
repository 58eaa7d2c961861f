-- vLLM only: its counters, and the window of its log lines.

-- A draft of k tokens yields at most k + 1; if the command is unknown, the counters per position give k. Without
-- drafts, if a step usually yields one token (over at least ten scrapes), it always does.
CREATE OR REPLACE MACRO vllm_intervals(interval_rows) AS TABLE
WITH vllm_rows AS (
    SELECT *, drafts IS NULL AND accepted IS NULL AND speculates IS NOT TRUE AS draftless
    FROM query_table(interval_rows) WHERE definition IN ('vllm.counter', 'vllm.v0.counter')
), usual_tokens AS (
    -- From the given rows, since reading `vllm_rows` twice would copy all of its columns.
    SELECT run_id, CASE WHEN count(*) >= 10
        THEN median(ratio(generation, inter_token_count + first_tokens)) END AS usual_per_step
    FROM query_table(interval_rows) WHERE definition IN ('vllm.counter', 'vllm.v0.counter') GROUP BY run_id
)
SELECT
    * EXCLUDE (broken, draftless, num_tokens, positions, usual_per_step),
    coalesce(broken, contradiction(
        step_tokens, steps, accepted,
        CASE WHEN NOT draftless THEN 1 + coalesce(num_tokens, positions) WHEN usual_per_step <= 1.05 THEN 1.25 END
    )) AS broken
FROM (
    SELECT
        * EXCLUDE (decoded, decode_seconds),
        generation - first_tokens AS decode_tokens, dt_s AS decode_s, generation AS printed_tokens,
        generation AS step_tokens, dt_s AS step_s,
        plain_steps(generation, inter_token_count + first_tokens, draftless) AS steps,
        plain_steps(generation - first_tokens, inter_token_count, draftless) AS decode_steps,
        activity_of(generation - first_tokens, fresh_tokens, running_before, requests_running) AS activity,
        CASE
            WHEN generation IS NULL OR first_tokens IS NULL THEN 'tokens_not_counted'
            WHEN inter_token_count IS NULL THEN 'no_step_counter'
            WHEN drafts IS NULL AND accepted IS NOT NULL THEN 'drafts_not_counted'
        END AS gap
    FROM vllm_rows JOIN usual_tokens USING (run_id)
);

-- If no method is stated, vLLM derives it from the draft model's name, then from its files, which no command shows.
CREATE OR REPLACE MACRO vllm_speculative_method(engine, model) AS CASE
    WHEN engine <> 'vllm' THEN NULL
    WHEN lower(model) IN ('ngram', '[ngram]') THEN 'ngram'
    WHEN contains(lower(model), 'eagle-') THEN 'eagle'
    WHEN contains(lower(model), 'eagle3') THEN 'eagle3'
END;

-- vLLM skips only the lines of empty windows, so a line after one with tokens follows after exactly one window. The
-- window is constant: the usual distance, unless the run's environment states it.
CREATE OR REPLACE MACRO vllm_line_has_window(definition, generation_tps) AS
    definition = 'vllm.log' AND generation_tps IS NOT NULL;
CREATE OR REPLACE MACRO vllm_stated_window_s(config) AS TRY_CAST(config->>'$.env.VLLM_LOG_STATS_INTERVAL' AS DOUBLE);

-- vLLM's definition of a KV cache token, read from its releases; it changed at 0.20.1. Null for other engines.
CREATE OR REPLACE MACRO vllm_kv_tokens_definition(engine, version) AS CASE
    WHEN engine IS DISTINCT FROM 'vllm' THEN NULL
    WHEN version IS NULL OR NOT regexp_matches(version, '^\d{1,6}\.\d{1,6}')
        THEN 'not known: it changed with 0.20.2, and the version is not known'
    WHEN regexp_matches(version, '^0\.20\.1(\D|$)') THEN 'not known of 0.20.1: it changed before 0.20.2'
    WHEN list_transform(regexp_extract_all(version || '.0', '\d{1,6}')[:3], lambda x: x::INTEGER) >= [0, 20, 2]
        THEN 'max_concurrency * max_model_len'
    ELSE 'num_blocks // num_groups * min_block_size'
END;
