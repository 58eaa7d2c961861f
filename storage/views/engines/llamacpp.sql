-- llama.cpp only: its counters, its slots, and its log of finished requests.

-- Token and draft counters move when a request finishes; each step yields one token that was not drafted.
CREATE OR REPLACE MACRO llamacpp_scraped(looks) AS TABLE
SELECT
    generation AS decode_tokens, decode_seconds AS decode_s, NULL::DOUBLE AS printed_tokens,
    generation AS step_tokens,
    generation - coalesce(accepted, CASE WHEN NOT speculates THEN 0 END) AS steps, decode_seconds AS step_s,
    steps AS decode_steps,
    drafts, draft_tokens, accepted, accepted_per_pos,
    NULL::VARCHAR AS activity,
    CASE WHEN accepted IS NULL AND speculates IS NOT FALSE THEN 'accepted_not_counted' END AS gap,
    * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos, num_tokens, positions)
FROM query_table(looks) WHERE definition = 'llamacpp.counter' AND (generation > 0 OR broken IS NOT NULL);

CREATE OR REPLACE MACRO slots_definition() AS 'llamacpp.slots';

-- The slots between requests: tokens each slot has generated so far. The last tokens of a task that ended between two
-- scrapes are not seen, nor any of one that also began between them: those tokens are unknown, not zero.
CREATE OR REPLACE MACRO slot_progress(since, until, run_ids) AS TABLE
WITH seen AS (
    SELECT *, mono_s - lag(mono_s) OVER slots AS gap_s
    FROM slot_samples_of(run_ids) LEFT JOIN asked_of(run_ids) USING (run_id)
    WHERE is_within(ts, led_in(since), until)
    WINDOW slots AS (PARTITION BY run_id, slot ORDER BY mono_s)
), apart AS (
    FROM seen QUALIFY NOT is_too_soon(gap_s, median(gap_s) OVER (PARTITION BY run_id, slot))
), looks AS (
    SELECT
        *,
        mono_s - lag(mono_s) OVER slots AS dt_s,
        decode_calls_total - lag(decode_calls_total) OVER slots AS calls,
        coalesce(lag(is_processing) OVER slots, false) AS was_processing,
        lag(task) OVER slots IS NOT DISTINCT FROM task AS same_task,
        lag(n_decoded) OVER slots AS decoded_before
    FROM apart
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
        run_id, ts, mono_s, any_value(speculates_asked) AS speculates, any_value(num_tokens) AS num_tokens,
        max(dt_s) AS dt_s, max(calls) AS calls, sum(decoded) AS decoded,
        count(*) FILTER (is_processing) AS running, count(*) FILTER (was_processing) AS running_before,
        sum(CASE WHEN is_processing THEN n_tokens ELSE 0 END) / nullif(sum(n_ctx), 0) AS kv_usage_ratio,
        bool_or(n_ctx IS NULL OR (is_processing AND n_tokens IS NULL)) AS kv_unseen,
        count(*) FILTER (worked) AS touched,
        bool_or(ended) AS any_ended, bool_or(missed) AS any_missed, bool_and(went_on OR NOT worked) AS steady,
        coalesce(min(decoded) < 0, false) AS fell,
        bool_or(is_processing AND NOT ended AND decoded IS NULL) AS untold,
        count(decoded) = count(*) AS told,
        list_distinct(list(slot_activity) FILTER (slot_activity <> 'idle')) AS activities
    FROM labelled GROUP BY run_id, ts, mono_s
), stepped AS (
    SELECT
        *,
        break_reason(fell, dt_s, median(dt_s) OVER (PARTITION BY run_id)) AS broken,
        touched = 1 AND steady AND calls > 0 AS counts_steps
    FROM scrapes
), judged AS (
    -- Slots and calls come from two responses of the server: under load one may be ahead of the other. A step yields
    -- at least one token per request; without drafts, if it usually yields one (over at least three scrapes), it always
    -- does.
    SELECT
        * REPLACE (CASE WHEN counts_steps THEN plain_steps(decoded, calls, NOT speculates) END AS calls),
        CASE
            WHEN counts_steps AND decoded < 0.75 * calls THEN 'more_steps_than_tokens'
            WHEN counts_steps
                THEN contradiction(decoded, calls, NULL, CASE
                    WHEN speculates THEN 1 + num_tokens
                    WHEN NOT speculates AND usual_per_step <= 1.05 THEN 1.25
                END)
        END AS unlikely
    FROM (
        SELECT *, CASE WHEN count(*) FILTER (counts_steps) OVER (PARTITION BY run_id) >= 3
            THEN median(decoded / calls) FILTER (counts_steps) OVER (PARTITION BY run_id) END AS usual_per_step
        FROM stepped
    )
)
SELECT
    run_id, 'slots' AS source, slots_definition() AS definition, 0::BIGINT AS engine_index, ts, mono_s, dt_s,
    CASE WHEN broken IS NULL THEN dt_s END AS covered_s,
    CASE WHEN broken IS NULL AND told THEN decoded END::DOUBLE AS decode_tokens,
    CASE WHEN broken IS NULL AND told THEN dt_s END AS decode_s,
    CASE WHEN broken IS NULL AND counts_steps AND unlikely IS NULL THEN decoded END::DOUBLE AS step_tokens,
    CASE WHEN broken IS NULL AND counts_steps AND unlikely IS NULL THEN calls END AS steps,
    CASE WHEN broken IS NULL AND counts_steps AND unlikely IS NULL THEN dt_s END AS step_s,
    steps AS decode_steps,
    running_before::DOUBLE AS running_before, running::DOUBLE AS requests_running,
    CASE WHEN NOT kv_unseen THEN kv_usage_ratio END AS kv_usage_ratio,
    CASE
        WHEN broken IS NOT NULL OR untold THEN NULL
        WHEN activities IS NULL OR len(activities) = 0 THEN 'idle'
        WHEN len(activities) = 1 THEN activities[1]
        ELSE 'mixed'
    END AS activity,
    CASE
        WHEN broken IS NOT NULL THEN broken
        WHEN untold THEN 'slots_tell_no_tokens'
        WHEN unlikely IS NOT NULL THEN unlikely
        WHEN any_ended THEN 'request_ended_inside'
        WHEN any_missed THEN 'request_between_looks'
        WHEN touched > 1 THEN 'several_requests'
        WHEN touched = 1 AND NOT counts_steps THEN 'request_not_throughout'
    END AS reason
FROM judged;

-- The time of a finished request is decoding time.
CREATE OR REPLACE MACRO llamacpp_line_activity(kind, kind_before, broken, tokens) AS
    CASE WHEN kind = 'request' AND tokens IS NOT NULL THEN 'active' END;

-- Log and counters both cover finished requests, but at different times: only the totals can be compared.
CREATE OR REPLACE MACRO llamacpp_crosscheck(run_ids) AS TABLE
WITH looked AS (
    FROM scraped(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids)
), finished AS (
    SELECT
        run_id, engine_index, max(ts) AS ended, sum(decode_tokens) AS tokens, ratio(sum(decode_tokens), sum(decode_s)) AS tps
    FROM llamacpp_scraped('looked') WHERE broken IS NULL AND decode_tokens IS NOT NULL GROUP BY ALL
), watched AS (
    SELECT run_id, engine_index, min(ts) AS began FROM counter_samples_of(run_ids)
    WHERE definition = 'llamacpp.counter' GROUP BY ALL
), logged AS (
    SELECT
        run_id, engine_index, definition, min(began) AS began, sum(generated_tokens) AS tokens,
        ratio(sum(generated_tokens), sum(window_s)) AS tps
    FROM log_samples_of(run_ids) JOIN watched USING (run_id, engine_index)
    WHERE definition = 'llamacpp.log' AND generation_tps IS NOT NULL AND ts >= began
    GROUP BY ALL
)
SELECT
    l.run_id, f.ended AS ts, l.definition, l.engine_index, epoch(f.ended) - epoch(l.began) AS window_s,
    l.tps AS log_tps, CASE WHEN abs(l.tokens - f.tokens) <= 0.05 * f.tokens THEN f.tps END AS counter_tps
FROM logged l JOIN finished f USING (run_id, engine_index);
