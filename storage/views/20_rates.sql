-- The only home of rates and acceptance: ratios of summed increments, over one interval or over a window.

CREATE OR REPLACE MACRO ratio(part, whole) AS part / nullif(whole, 0);

-- Null as soon as one rank's share is unknown: a sum of the others would be a wrong number.
CREATE OR REPLACE MACRO sum_of_all(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

-- One word for several: the common one, 'mixed' when they differ, null when one is unknown.
CREATE OR REPLACE MACRO common_activity(activities, total) AS CASE
    WHEN coalesce(len(activities), 0) < total THEN NULL
    WHEN len(list_distinct(activities)) = 1 THEN activities[1]
    ELSE 'mixed'
END;

-- w: seconds of a window aligned on the moment the run got ready, or null for the intervals as they were measured.
-- by_rank: one row per engine rank, or one per run. since: only what came after it, or null.
CREATE OR REPLACE MACRO engine_rates(w, by_rank, since) AS TABLE
WITH placed AS (
    SELECT
        p.*,
        CASE WHEN by_rank THEN p.engine_index END AS rank,
        epoch(p.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s
    FROM progress_since(since) p LEFT JOIN raw.runs r ON r.id = p.run_id
), scrapes AS (
    SELECT
        run_id, source, definition, rank, ts, mono_s, since_ready_s, max(dt_s) AS dt_s,
        CASE WHEN w IS NULL THEN mono_s ELSE floor((since_ready_s - max(dt_s) / 2) / w) END AS place,
        CASE WHEN count(covered_s) = count(*) THEN max(covered_s) END AS covered_s,
        sum_of_all(decode_tokens) AS decode_tokens, max(decode_s) AS decode_s,
        sum_of_all(step_tokens) AS step_tokens, sum_of_all(steps) AS steps, max(step_s) AS step_s,
        sum_of_all(drafts) AS drafts, sum_of_all(draft_tokens) AS draft_tokens, sum_of_all(accepted) AS accepted,
        add_lists(list(accepted_per_pos)) AS accepted_per_pos,
        sum_of_all(prompt_tokens) AS prompt_tokens, sum_of_all(preemptions) AS preemptions,
        sum_of_all(requests_running) AS requests_running, sum_of_all(requests_waiting) AS requests_waiting,
        avg(kv_usage_ratio) AS kv_usage_ratio,
        CASE
            WHEN count(activity) = count(*) AND bool_and(activity = 'idle') THEN 'idle'
            ELSE common_activity(list(activity) FILTER (activity <> 'idle'), count(*) FILTER (activity IS DISTINCT FROM 'idle'))
        END AS activity,
        max(reason) AS reason
    FROM placed
    GROUP BY run_id, source, definition, rank, ts, mono_s, since_ready_s
), summed AS (
    SELECT
        run_id, source, definition, rank, place, max(ts) AS ts, max(since_ready_s) AS since_ready_s,
        sum(dt_s) AS dt_s, coalesce(sum(covered_s), 0) AS covered_s,
        sum(decode_tokens) AS decode_tokens, sum(decode_s) FILTER (decode_tokens IS NOT NULL) AS decode_s,
        sum(step_tokens) FILTER (steps IS NOT NULL) AS step_tokens,
        sum(steps) AS ratio_steps, sum(steps) FILTER (step_s IS NOT NULL) AS steps,
        sum(step_s) FILTER (steps IS NOT NULL) AS step_s,
        sum(drafts) FILTER (accepted IS NOT NULL) AS drafts, sum(draft_tokens) AS draft_tokens,
        sum(accepted) AS accepted, add_lists(list(accepted_per_pos)) AS accepted_per_pos,
        sum(prompt_tokens) AS prompt_tokens, sum(covered_s) FILTER (prompt_tokens IS NOT NULL) AS prompt_s,
        sum(preemptions) AS preemptions,
        arg_max(requests_running, mono_s) AS requests_running, arg_max(requests_waiting, mono_s) AS requests_waiting,
        arg_max(kv_usage_ratio, mono_s) AS kv_usage_ratio,
        common_activity(list(activity) FILTER (activity IS NOT NULL), count(*)) AS activity,
        max(reason) AS reason
    FROM scrapes
    GROUP BY run_id, source, definition, rank, place
)
SELECT
    run_id, ts,
    CASE WHEN w IS NULL THEN since_ready_s ELSE (place + 1) * w END AS since_ready_s,
    source, definition, rank AS engine_index,
    coalesce(w, dt_s)::DOUBLE AS window_s, covered_s,
    ratio(decode_tokens, decode_s) AS decode_tps,
    ratio(step_tokens, ratio_steps) AS tokens_per_step,
    ratio(steps, step_s) AS steps_per_s,
    1 + ratio(accepted, drafts) AS acceptance_length,
    ratio(accepted, draft_tokens) AS acceptance_rate,
    CASE WHEN drafts > 0 THEN list_transform(accepted_per_pos, lambda x: x / drafts) END AS per_position,
    ratio(prompt_tokens, prompt_s) AS prompt_tps,
    requests_running, requests_waiting, kv_usage_ratio, preemptions, activity, reason,
    decode_tokens, decode_s, steps
FROM summed
WHERE since IS NULL OR ts > since;

-- Whether a log line's window held decoding and nothing else, as far as the lines themselves tell it.
-- A finished request's own time is decoding. SGLang's decode line after a prefill line, or after a silence, has that time
-- in it. vLLM books prompt tokens when their first token comes, so without any there was none of either.
CREATE OR REPLACE MACRO log_activity(kind, kind_before, broken, tokens, fresh, running_before, running) AS CASE
    WHEN kind = 'prefill' THEN 'prefill'
    WHEN kind = 'request' AND tokens IS NOT NULL THEN 'active'
    WHEN kind = 'decode' AND tokens IS NOT NULL THEN
        CASE WHEN kind_before = 'decode' AND broken IS NULL THEN 'active' ELSE 'mixed' END
    WHEN kind IS NULL THEN activity_of(tokens, fresh, CASE WHEN broken IS NULL THEN running_before END, running)
END;

-- A log line is already a rate over a window of its engine's own; it cannot be cut anew.
CREATE OR REPLACE MACRO log_rates(since) AS TABLE
WITH lines AS (
    SELECT
        *,
        epoch(ts) - lag(epoch(ts)) OVER printed AS dt_s,
        lag(kind) OVER printed AS kind_before,
        lag(requests_running) OVER printed AS running_before
    FROM log_samples
    WHERE since IS NULL OR ts >= since - INTERVAL 1 MINUTE
    WINDOW printed AS (
        PARTITION BY run_id, definition, engine_index, rank, kind IS NULL AND generation_tps IS NULL
        ORDER BY ts, "offset"
    )
), judged AS (
    SELECT
        *,
        -- SGLang prints no window: a line speaks of the time since the line before it.
        CASE WHEN kind = 'decode' THEN dt_s ELSE window_s END AS decode_s,
        break_reason(false, dt_s, median(dt_s) OVER (PARTITION BY run_id, definition, engine_index)) AS broken
    FROM lines
)
SELECT
    l.run_id, l.ts,
    epoch(l.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s,
    'log' AS source, l.definition, l.engine_index, l.window_s, l.window_s AS covered_s,
    generation_tps AS decode_tps,
    CASE WHEN l.definition = 'sglang.log' AND l.kind = 'decode' THEN
        coalesce(acceptance_length, CASE WHEN NOT speculation_of(r.config, false) THEN 1 END)
    END AS tokens_per_step,
    NULL::DOUBLE AS steps_per_s,
    acceptance_length, acceptance_rate, per_position, prompt_tps,
    requests_running, requests_waiting, kv_usage_ratio, NULL::DOUBLE AS preemptions,
    log_activity(l.kind, kind_before, broken, generation_tps, prompt_tps, running_before, requests_running) AS activity,
    'the log has no step counter' AS reason,
    generation_tps * decode_s AS decode_tokens,
    CASE WHEN generation_tps IS NOT NULL THEN decode_s END AS decode_s,
    NULL::DOUBLE AS steps
FROM judged l LEFT JOIN raw.runs r ON r.id = l.run_id
WHERE since IS NULL OR l.ts > since;

-- Ranks print their lines each at its own time, so lines of several ranks have no sum.
CREATE OR REPLACE MACRO run_log_rates(since) AS TABLE
FROM log_rates(since) WHERE run_id NOT IN (SELECT run_id FROM log_samples WHERE engine_index > 0);

CREATE OR REPLACE MACRO engine_samples_since(since) AS TABLE
FROM engine_rates(NULL::DOUBLE, true, since) UNION ALL BY NAME FROM log_rates(since);

CREATE OR REPLACE MACRO run_samples_since(since) AS TABLE
FROM engine_rates(NULL::DOUBLE, false, since) UNION ALL BY NAME FROM run_log_rates(since);

CREATE OR REPLACE VIEW engine_samples AS FROM engine_samples_since(NULL::TIMESTAMPTZ);
CREATE OR REPLACE VIEW run_samples AS FROM run_samples_since(NULL::TIMESTAMPTZ);
CREATE OR REPLACE MACRO engine_windows(w) AS TABLE FROM engine_rates(w, true, NULL::TIMESTAMPTZ);
CREATE OR REPLACE MACRO run_windows(w) AS TABLE FROM engine_rates(w, false, NULL::TIMESTAMPTZ);

-- The engine's own log line against its counters over the same seconds.
CREATE OR REPLACE VIEW samples_crosscheck AS
WITH pairs AS (
    SELECT
        l.run_id, l.engine_index, l.ts, l.definition, l.window_s, l.generation_tps AS log_tps, p.printed_tokens,
        p.covered_s,
        greatest(0, epoch(least(p.ts, l.ts)) - greatest(epoch(p.ts) - p.dt_s, epoch(l.ts) - l.window_s)) AS shared_s
    FROM log_samples l
    LEFT JOIN progress p ON p.run_id = l.run_id AND p.engine_index = l.engine_index AND p.source = 'counter'
        AND p.ts > l.ts - to_seconds(l.window_s) AND p.ts < l.ts + to_seconds(l.window_s)
    WHERE l.generation_tps IS NOT NULL AND l.definition <> 'llamacpp.log'
), summed AS (
    SELECT
        run_id, engine_index, ts, definition, window_s, log_tps,
        sum(shared_s) FILTER (printed_tokens IS NOT NULL) AS shared_s,
        ratio(sum(printed_tokens * shared_s / covered_s), sum(shared_s) FILTER (printed_tokens IS NOT NULL)) AS tps
    FROM pairs GROUP BY ALL
), finished AS (
    -- llama.cpp speaks of finished requests on both sides, each at its own moment: only all of them can be compared.
    SELECT
        run_id, engine_index, max(ts) AS ended, sum(decode_tokens) AS tokens, ratio(sum(decode_tokens), sum(decode_s)) AS tps
    FROM progress WHERE definition = 'llamacpp.counter' AND decode_tokens IS NOT NULL GROUP BY ALL
), logged AS (
    SELECT
        run_id, engine_index, definition, min(began) AS began, sum(generated_tokens) AS tokens,
        ratio(sum(generated_tokens), sum(window_s)) AS tps
    FROM log_samples l JOIN (
        SELECT run_id, engine_index, min(ts) AS began FROM counter_samples GROUP BY ALL
    ) USING (run_id, engine_index)
    WHERE definition = 'llamacpp.log' AND generation_tps IS NOT NULL AND ts >= began
    GROUP BY ALL
), compared AS (
    SELECT
        run_id, ts, definition, engine_index, window_s, log_tps,
        CASE WHEN shared_s >= 0.9 * window_s THEN tps END AS counter_tps
    FROM summed
    UNION ALL BY NAME
    SELECT
        l.run_id, f.ended AS ts, l.definition, l.engine_index, epoch(f.ended) - epoch(l.began) AS window_s,
        l.tps AS log_tps, CASE WHEN abs(l.tokens - f.tokens) <= 0.05 * f.tokens THEN f.tps END AS counter_tps
    FROM logged l JOIN finished f USING (run_id, engine_index)
)
SELECT
    run_id, ts, definition, engine_index, window_s, log_tps, counter_tps,
    ratio(counter_tps - log_tps, log_tps) AS relative_difference
FROM compared;
