-- What moved between two looks at an engine: increments of cumulative counters over monotonic time.
-- Every engine is brought to the same few quantities here, so that each rate below has one formula:
--   decode_tokens over decode_s, step_tokens over steps, steps over step_s, accepted over drafts and draft_tokens.

-- An interval nobody should draw a rate from, and why. `usual_s`: the median interval of the run.
CREATE OR REPLACE MACRO break_reason(fell, dt_s, usual_s) AS CASE
    WHEN fell THEN 'counter reset'
    WHEN dt_s > greatest(5, 3 * usual_s) THEN 'no answer for ' || round(dt_s, 1) || ' s'
END;

CREATE OR REPLACE MACRO subtract_lists(a, b) AS
    CASE WHEN len(a) = len(b) THEN list_transform(range(1, len(a) + 1), lambda i: a[i] - b[i]) END;

CREATE OR REPLACE MACRO add_lists(lists) AS
    list_transform(range(1, list_max(list_transform(lists, lambda l: len(l))) + 1),
        lambda i: list_sum(list_transform(lists, lambda l: l[i])));

-- Nothing but decoding, from one end to the other, is 'active'.
CREATE OR REPLACE MACRO activity_of(tokens, fresh, running_before, running) AS CASE
    WHEN tokens IS NULL OR fresh IS NULL THEN NULL
    WHEN tokens > 0 AND fresh = 0 AND running_before >= 1 AND running >= 1 THEN 'active'
    WHEN tokens > 0 THEN 'mixed'
    WHEN fresh > 0 OR running >= 1 THEN 'prefill'
    ELSE 'idle'
END;

-- Whether a run speculates: as its config says, or as its engine shows; null where the command line is not known.
CREATE OR REPLACE MACRO speculation_of(config, shown) AS CASE
    WHEN shown OR (config->>'$.speculative') IS NOT NULL THEN true
    WHEN json_array_length(config, '$.argv') > 0 THEN false
END;

CREATE OR REPLACE MACRO counter_progress(since) AS TABLE
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
    FROM counter_samples
    WHERE since IS NULL OR ts >= since - INTERVAL 1 MINUTE
    WINDOW scrapes AS (PARTITION BY run_id, definition, engine_index ORDER BY mono_s)
), judged AS (
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
    FROM deltas d LEFT JOIN raw.runs r ON r.id = d.run_id
    WHERE dt_s > 0
), vllm AS (
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
    FROM judged WHERE definition IN ('vllm.counter', 'vllm.v0.counter')
), sglang AS (
    -- Every verify step drafts, so tokens over the gauge are the verify steps, and each gave one bonus token. They are
    -- good for ratios only: a rate of steps made from the token rate would be no measurement.
    SELECT
        decoded AS decode_tokens, dt_s AS decode_s, decoded AS printed_tokens, decoded AS step_tokens,
        CASE WHEN speculates THEN verify_steps WHEN NOT speculates THEN decoded END AS steps,
        CASE WHEN NOT speculates THEN dt_s END AS step_s,
        verify_steps AS drafts, accepted_tokens AS accepted, accepted_tokens / nullif(accept_rate_gauge, 0) AS draft_tokens,
        NULL::DOUBLE[] AS accepted_per_pos,
        activity_of(decoded, fresh_tokens, running_before, requests_running) AS activity,
        CASE
            WHEN decoded IS NULL THEN 'the server does not count decode tokens as they come'
            WHEN speculates THEN 'no step counter'
            WHEN speculates IS NULL THEN 'not known whether the server speculates'
        END AS gap,
        * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos, verify_steps, accepted_tokens)
    FROM (
        SELECT
            decoded / nullif(accept_length_gauge, 0) AS verify_steps,
            decoded - decoded / nullif(accept_length_gauge, 0) AS accepted_tokens,
            *
        FROM judged WHERE definition = 'sglang.counter'
    )
), llamacpp AS (
    -- Token and draft counters move when a request finishes; each step gives one token that no draft gave.
    SELECT
        generation AS decode_tokens, decode_seconds AS decode_s, NULL::DOUBLE AS printed_tokens,
        generation AS step_tokens,
        generation - coalesce(accepted, CASE WHEN NOT speculates THEN 0 END) AS steps, decode_seconds AS step_s,
        drafts, draft_tokens, accepted, accepted_per_pos,
        NULL::VARCHAR AS activity,
        CASE WHEN accepted IS NULL AND speculates IS NOT FALSE THEN 'the server counts no accepted tokens' END AS gap,
        * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos)
    FROM judged WHERE definition = 'llamacpp.counter' AND (generation > 0 OR broken IS NOT NULL)
)
SELECT
    run_id, 'counter' AS source, definition, engine_index, ts, mono_s, dt_s,
    unbroken.*,
    requests_running, requests_waiting, kv_usage_ratio,
    coalesce(broken, gap) AS reason
FROM (
    SELECT
        CASE WHEN broken IS NULL THEN {
            'covered_s': dt_s, 'decode_tokens': decode_tokens, 'decode_s': decode_s, 'printed_tokens': printed_tokens,
            'step_tokens': step_tokens, 'steps': steps, 'step_s': step_s, 'drafts': drafts,
            'draft_tokens': draft_tokens, 'accepted': accepted, 'accepted_per_pos': accepted_per_pos,
            'prompt_tokens': prompt_tokens, 'preemptions': preemptions, 'activity': activity
        } END AS unbroken,
        *
    FROM (FROM vllm UNION ALL BY NAME FROM sglang UNION ALL BY NAME FROM llamacpp)
);

-- llama.cpp between requests: tokens each slot has made so far. A task that ended took its last tokens out of sight,
-- and one that came and went between two looks took all of them: then they are unknown, not none.
CREATE OR REPLACE MACRO slot_progress(since) AS TABLE
WITH looks AS (
    SELECT
        *,
        mono_s - lag(mono_s) OVER slots AS dt_s,
        decode_calls_total - lag(decode_calls_total) OVER slots AS calls,
        coalesce(lag(is_processing) OVER slots, false) AS was_processing,
        lag(task) OVER slots IS NOT DISTINCT FROM task AS same_task,
        lag(n_decoded) OVER slots AS decoded_before
    FROM slot_samples
    WHERE since IS NULL OR ts >= since - INTERVAL 1 MINUTE
    WINDOW slots AS (PARTITION BY run_id, slot ORDER BY mono_s)
), moved AS (
    SELECT
        *,
        was_processing AND is_processing AND same_task AS went_on,
        was_processing AND NOT (is_processing AND same_task) AS ended,
        NOT (was_processing OR is_processing OR same_task) AS missed,
        is_processing OR was_processing OR NOT same_task AS worked
    FROM looks WHERE dt_s > 0
), counted AS (
    SELECT
        *,
        CASE
            WHEN ended OR missed THEN NULL
            WHEN NOT is_processing THEN 0
            WHEN went_on THEN n_decoded - decoded_before
            ELSE n_decoded
        END AS decoded
    FROM moved
), labelled AS (
    SELECT
        *,
        CASE
            WHEN ended OR missed THEN 'mixed'
            WHEN NOT is_processing THEN 'idle'
            WHEN decoded = 0 THEN 'prefill'
            WHEN went_on AND decoded_before > 0 THEN 'active'
            ELSE 'mixed'
        END AS slot_activity
    FROM counted
), scrapes AS (
    SELECT
        run_id, ts, mono_s, max(dt_s) AS dt_s, max(calls) AS calls, sum(decoded) AS decoded,
        count(*) FILTER (is_processing) AS running,
        sum(CASE WHEN is_processing THEN n_tokens ELSE 0 END) / nullif(sum(n_ctx), 0) AS kv_usage_ratio,
        bool_or(n_ctx IS NULL OR (is_processing AND n_tokens IS NULL)) AS kv_unseen,
        count(*) FILTER (worked) AS touched,
        bool_or(ended) AS any_ended, bool_or(missed) AS any_missed, bool_and(went_on OR NOT worked) AS steady,
        coalesce(min(decoded) < 0, false) AS fell,
        bool_or(is_processing AND NOT ended AND decoded IS NULL) AS untold,
        count(decoded) = count(*) AS told,
        list_distinct(list(slot_activity) FILTER (slot_activity <> 'idle')) AS activities
    FROM labelled GROUP BY run_id, ts, mono_s
), judged AS (
    SELECT
        *,
        break_reason(fell, dt_s, median(dt_s) OVER (PARTITION BY run_id)) AS broken,
        touched = 1 AND steady AND calls > 0 AS counts_steps
    FROM scrapes
)
SELECT
    run_id, 'slots' AS source, 'llamacpp.slots' AS definition, 0::BIGINT AS engine_index, ts, mono_s, dt_s,
    CASE WHEN broken IS NULL THEN dt_s END AS covered_s,
    CASE WHEN broken IS NULL AND told THEN decoded END::DOUBLE AS decode_tokens,
    CASE WHEN broken IS NULL AND told THEN dt_s END AS decode_s,
    CASE WHEN broken IS NULL AND counts_steps THEN decoded END::DOUBLE AS step_tokens,
    CASE WHEN broken IS NULL AND counts_steps THEN calls END AS steps,
    CASE WHEN broken IS NULL AND counts_steps THEN dt_s END AS step_s,
    running::DOUBLE AS requests_running,
    CASE WHEN NOT kv_unseen THEN kv_usage_ratio END AS kv_usage_ratio,
    CASE
        WHEN broken IS NOT NULL OR untold THEN NULL
        WHEN activities IS NULL OR len(activities) = 0 THEN 'idle'
        WHEN len(activities) = 1 THEN activities[1]
        ELSE 'mixed'
    END AS activity,
    CASE
        WHEN broken IS NOT NULL THEN broken
        WHEN untold THEN 'the slots do not tell the tokens made'
        WHEN any_ended THEN 'a request ended inside: its last tokens were not seen'
        WHEN any_missed THEN 'a request came and went between two looks: its tokens were not seen'
        WHEN touched > 1 THEN 'steps are not told apart while several requests run'
        WHEN touched = 1 AND NOT counts_steps THEN 'steps are known only while one request decodes throughout'
    END AS reason
FROM judged;

CREATE OR REPLACE MACRO progress_since(since) AS TABLE
FROM counter_progress(since) UNION ALL BY NAME FROM slot_progress(since);

CREATE OR REPLACE VIEW progress AS FROM progress_since(NULL::TIMESTAMPTZ);
