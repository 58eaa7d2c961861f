-- llama.cpp only: its counters, its slots, and its log of finished requests.

-- Token and draft counters move when a request finishes; each step yields one token that was not drafted.
CREATE OR REPLACE MACRO llamacpp_intervals(interval_rows) AS TABLE
SELECT
    generation AS decode_tokens, decode_seconds AS decode_s, NULL::DOUBLE AS printed_tokens,
    generation AS step_tokens,
    generation - coalesce(accepted, CASE WHEN NOT speculates THEN 0 END) AS steps, decode_seconds AS step_s,
    steps AS decode_steps,
    drafts, draft_tokens, accepted, accepted_per_pos,
    NULL::VARCHAR AS activity,
    CASE WHEN accepted IS NULL AND speculates IS NOT FALSE THEN 'accepted_not_counted' END AS gap,
    * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos, num_tokens, positions)
FROM query_table(interval_rows) WHERE definition = 'llamacpp.counter' AND (generation > 0 OR broken IS NOT NULL);

CREATE OR REPLACE MACRO slots_definition() AS 'llamacpp.slots';

-- The slots between requests: tokens each slot has generated so far. The last tokens of a task that ended between two
-- scrapes are not seen, nor any of one that also began between them: those tokens are unknown, not zero.
CREATE OR REPLACE MACRO slot_progress(since, until, run_ids) AS TABLE
WITH samples AS (
    SELECT *, mono_s - lag(mono_s) OVER slots AS gap_s
    FROM slot_samples_of(run_ids) LEFT JOIN recorded_settings_of(run_ids) USING (run_id)
    WHERE is_within(ts, with_lead_in(since), until)
    WINDOW slots AS (PARTITION BY run_id, slot ORDER BY mono_s)
), spaced_samples AS (
    FROM samples QUALIFY NOT is_too_soon(gap_s, median(gap_s) OVER (PARTITION BY run_id, slot))
), slot_intervals AS (
    SELECT
        *,
        mono_s - lag(mono_s) OVER slots AS dt_s,
        decode_calls_total - lag(decode_calls_total) OVER slots AS calls,
        coalesce(lag(is_processing) OVER slots, false) AS was_processing,
        lag(task) OVER slots IS NOT DISTINCT FROM task AS same_task,
        lag(n_decoded) OVER slots AS decoded_before
    FROM spaced_samples
    WINDOW slots AS (PARTITION BY run_id, slot ORDER BY mono_s)
), transitions AS (
    SELECT
        *,
        was_processing AND is_processing AND same_task AS is_continued,
        was_processing AND NOT (is_processing AND same_task) AS ended,
        NOT (was_processing OR is_processing OR same_task) AS is_missed,
        is_processing OR was_processing OR NOT same_task AS is_busy
    FROM slot_intervals WHERE dt_s > 0
), decoded_counts AS (
    SELECT
        *,
        CASE
            WHEN ended OR is_missed THEN NULL
            WHEN NOT is_processing THEN 0
            WHEN is_continued THEN n_decoded - decoded_before
            ELSE n_decoded
        END AS decoded
    FROM transitions
), slot_activities AS (
    SELECT
        *,
        CASE
            WHEN ended OR is_missed THEN 'mixed'
            WHEN NOT is_processing THEN 'idle'
            WHEN decoded = 0 THEN 'prefill'
            WHEN is_continued AND decoded_before > 0 THEN 'active'
            ELSE 'mixed'
        END AS slot_activity
    FROM decoded_counts
), scrapes AS (
    SELECT
        run_id, ts, mono_s, any_value(speculates_by_record) AS speculates, any_value(num_tokens) AS num_tokens,
        max(dt_s) AS dt_s, max(calls) AS calls, sum(decoded) AS decoded,
        count(*) FILTER (is_processing) AS running, count(*) FILTER (was_processing) AS running_before,
        sum(CASE WHEN is_processing THEN n_tokens ELSE 0 END) / nullif(sum(n_ctx), 0) AS kv_usage_ratio,
        bool_or(n_ctx IS NULL OR (is_processing AND n_tokens IS NULL)) AS kv_unseen,
        count(*) FILTER (is_busy) AS busy_slots,
        bool_or(ended) AS any_ended, bool_or(is_missed) AS any_missed, bool_and(is_continued OR NOT is_busy) AS is_steady,
        coalesce(min(decoded) < 0, false) AS is_reset,
        bool_or(is_processing AND NOT ended AND decoded IS NULL) AS lacks_tokens,
        count(decoded) = count(*) AS has_all_tokens,
        list_distinct(list(slot_activity) FILTER (slot_activity <> 'idle')) AS activities
    FROM slot_activities GROUP BY run_id, ts, mono_s
), scrape_steps AS (
    SELECT
        *,
        break_reason(is_reset, dt_s, median(dt_s) OVER (PARTITION BY run_id)) AS broken,
        busy_slots = 1 AND is_steady AND calls > 0 AS counts_steps
    FROM scrapes
), checked_steps AS (
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
        END AS contradiction_reason
    FROM (
        SELECT *, CASE WHEN count(*) FILTER (counts_steps) OVER (PARTITION BY run_id) >= 3
            THEN median(decoded / calls) FILTER (counts_steps) OVER (PARTITION BY run_id) END AS usual_per_step
        FROM scrape_steps
    )
)
SELECT
    run_id, 'slots' AS source, slots_definition() AS definition, 0::BIGINT AS engine_index, ts, mono_s, dt_s,
    CASE WHEN broken IS NULL THEN dt_s END AS covered_s,
    CASE WHEN broken IS NULL AND has_all_tokens THEN decoded END::DOUBLE AS decode_tokens,
    CASE WHEN broken IS NULL AND has_all_tokens THEN dt_s END AS decode_s,
    CASE WHEN broken IS NULL AND counts_steps AND contradiction_reason IS NULL THEN decoded END::DOUBLE AS step_tokens,
    CASE WHEN broken IS NULL AND counts_steps AND contradiction_reason IS NULL THEN calls END AS steps,
    CASE WHEN broken IS NULL AND counts_steps AND contradiction_reason IS NULL THEN dt_s END AS step_s,
    steps AS decode_steps,
    running_before::DOUBLE AS running_before, running::DOUBLE AS requests_running,
    CASE WHEN NOT kv_unseen THEN kv_usage_ratio END AS kv_usage_ratio,
    CASE
        WHEN broken IS NOT NULL OR lacks_tokens THEN NULL
        WHEN activities IS NULL OR len(activities) = 0 THEN 'idle'
        WHEN len(activities) = 1 THEN activities[1]
        ELSE 'mixed'
    END AS activity,
    CASE
        WHEN broken IS NOT NULL THEN broken
        WHEN lacks_tokens THEN 'slots_tell_no_tokens'
        WHEN contradiction_reason IS NOT NULL THEN contradiction_reason
        WHEN any_ended THEN 'request_ended_inside'
        WHEN any_missed THEN 'request_between_looks'
        WHEN busy_slots > 1 THEN 'several_requests'
        WHEN busy_slots = 1 AND NOT counts_steps THEN 'request_not_throughout'
    END AS reason
FROM checked_steps;

-- The time of a finished request is decoding time.
CREATE OR REPLACE MACRO llamacpp_line_activity(kind, kind_before, broken, tokens) AS
    CASE WHEN kind = 'request' AND tokens IS NOT NULL THEN 'active' END;

-- Log and counters both cover finished requests, but at different times: only the totals can be compared.
CREATE OR REPLACE MACRO llamacpp_crosscheck(run_ids) AS TABLE
WITH engine_rows AS (
    FROM scrape_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids)
), counter_totals AS (
    SELECT
        run_id, engine_index, max(ts) AS ended, sum(decode_tokens) AS tokens, ratio(sum(decode_tokens), sum(decode_s)) AS tps
    FROM llamacpp_intervals('engine_rows') WHERE broken IS NULL AND decode_tokens IS NOT NULL GROUP BY ALL
), first_scrapes AS (
    SELECT run_id, engine_index, min(ts) AS began FROM counter_samples_of(run_ids)
    WHERE definition = 'llamacpp.counter' GROUP BY ALL
), log_totals AS (
    SELECT
        run_id, engine_index, definition, min(began) AS began, sum(generated_tokens) AS tokens,
        ratio(sum(generated_tokens), sum(window_s)) AS tps
    FROM log_samples_of(run_ids) JOIN first_scrapes USING (run_id, engine_index)
    WHERE definition = 'llamacpp.log' AND generation_tps IS NOT NULL AND ts >= began
    GROUP BY ALL
)
SELECT
    l.run_id, f.ended AS ts, l.definition, l.engine_index, epoch(f.ended) - epoch(l.began) AS window_s,
    l.tps AS log_tps, CASE WHEN abs(l.tokens - f.tokens) <= 0.05 * f.tokens THEN f.tps END AS counter_tps
FROM log_totals l JOIN counter_totals f USING (run_id, engine_index);
