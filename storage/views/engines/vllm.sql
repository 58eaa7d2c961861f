-- What is vLLM's alone: its counters, and the window of its log lines.

CREATE OR REPLACE MACRO vllm_scraped(since, run_ids) AS TABLE
SELECT
    generation - first_tokens AS decode_tokens, dt_s AS decode_s, generation AS printed_tokens,
    generation AS step_tokens, inter_token_count + first_tokens AS steps, dt_s AS step_s,
    drafts, draft_tokens, accepted, accepted_per_pos,
    activity_of(generation - first_tokens, fresh_tokens, running_before, requests_running) AS activity,
    CASE
        WHEN generation IS NULL OR first_tokens IS NULL THEN 'the server does not count generated or first tokens'
        WHEN inter_token_count IS NULL THEN 'no step counter'
        WHEN drafts IS NULL AND accepted IS NOT NULL THEN 'the server counts no drafts'
    END AS gap,
    * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos)
FROM scraped(['vllm.counter', 'vllm.v0.counter'], since, run_ids);

-- vLLM leaves out lines of empty windows alone, so a line behind one with tokens comes after exactly one window, always
-- the same: the usual of these distances, unless the run's environment states it.
CREATE OR REPLACE MACRO vllm_has_window(definition, generation_tps) AS
    definition = 'vllm.log' AND generation_tps IS NOT NULL;
CREATE OR REPLACE MACRO vllm_stated_window_s(config) AS TRY_CAST(config->>'$.env.VLLM_LOG_STATS_INTERVAL' AS DOUBLE);
