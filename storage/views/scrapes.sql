-- What moved between two scrapes of an engine's counters, over monotonic time. Each engine's own file makes of it the few
-- quantities from which all rates follow:
--   decode_tokens over decode_s, step_tokens over steps, steps over step_s, accepted over drafts and draft_tokens.
-- In all files: run_ids are the runs asked about, null for all; since is the moment after which rows are wanted, or null.

CREATE OR REPLACE MACRO scraped(definitions, since, run_ids) AS TABLE
WITH deltas AS (
    SELECT
        run_id, definition, engine_index, ts, mono_s,
        requests_running, requests_waiting, kv_usage_ratio, accept_length_gauge, accept_rate_gauge,
        mono_s - lag(mono_s) OVER scrapes AS dt_s,
        lag(requests_running) OVER scrapes AS running_before,
        generation_tokens_total - lag(generation_tokens_total) OVER scrapes AS generation,
        first_tokens_total - lag(first_tokens_total) OVER scrapes AS first_tokens,
        inter_token_count_total - lag(inter_token_count_total) OVER scrapes AS inter_token_count,
        decode_tokens_total - lag(decode_tokens_total) OVER scrapes AS decoded,
        decode_seconds_total - lag(decode_seconds_total) OVER scrapes AS decode_seconds,
        prompt_tokens_total - lag(prompt_tokens_total) OVER scrapes AS prompt_tokens,
        drafts_total - lag(drafts_total) OVER scrapes AS drafts,
        draft_tokens_total - lag(draft_tokens_total) OVER scrapes AS draft_tokens,
        accepted_tokens_total - lag(accepted_tokens_total) OVER scrapes AS accepted,
        preemptions_total - lag(preemptions_total) OVER scrapes AS preemptions,
        subtract_lists(accepted_per_pos_total, lag(accepted_per_pos_total) OVER scrapes) AS accepted_per_pos
    FROM counter_samples_of(run_ids)
    WHERE list_contains(definitions, definition) AND (since IS NULL OR ts >= since - INTERVAL 1 MINUTE)
    WINDOW scrapes AS (PARTITION BY run_id, definition, engine_index ORDER BY mono_s)
)
SELECT
    d.*,
    speculation_of(r.config, accept_length_gauge > 0 OR accepted > 0) AS speculates,
    coalesce(first_tokens, 0) + coalesce(prompt_tokens, 0) AS fresh_tokens,
    break_reason(
        least(generation, first_tokens, inter_token_count, decoded, decode_seconds, prompt_tokens, drafts,
            draft_tokens, accepted, preemptions) < 0,
        dt_s,
        median(dt_s) OVER (PARTITION BY run_id, definition, engine_index)
    ) AS broken
FROM deltas d LEFT JOIN stored_runs(run_ids) r ON r.id = d.run_id
WHERE dt_s > 0;
