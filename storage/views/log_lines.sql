-- Log lines: each is already a rate over the engine's own window, which cannot be cut again.

-- Whether a log line's window contained only decoding, as far as the lines show it. vLLM counts prompt tokens when
-- their first token arrives, so a window without prompt tokens has no first tokens either.
CREATE OR REPLACE MACRO log_activity(kind, kind_before, broken, tokens, fresh, running_before, running) AS
    CASE WHEN kind IS NULL THEN activity_of(tokens, fresh, CASE WHEN broken IS NULL THEN running_before END, running)
    ELSE engine_line_activity(kind, kind_before, broken, tokens) END;

-- The number of drafts that a line covers. If its mean length rounds to 1, it follows from the draft positions: if every
-- draft is as long as the longest, drafted tokens divided by positions.
CREATE OR REPLACE MACRO drafts_of_line(accepted, drafted, mean_length, positions) AS CASE
    WHEN drafted = 0 THEN 0
    WHEN accepted > 0 AND mean_length > 1 THEN accepted / (mean_length - 1)
    ELSE drafted / nullif(len(positions), 0)
END;

-- Lines with the time they cover: `window_s` as printed or as fixed by the engine, `decode_s` also if only the previous
-- line gives it.
CREATE OR REPLACE MACRO log_lines(since, until, run_ids) AS TABLE
WITH finite_lines AS (
    SELECT * REPLACE (
        finite(generation_tps) AS generation_tps, finite(prompt_tps) AS prompt_tps,
        finite(requests_running) AS requests_running, finite(requests_waiting) AS requests_waiting,
        finite(kv_usage_ratio) AS kv_usage_ratio, finite(acceptance_length) AS acceptance_length,
        finite(acceptance_rate) AS acceptance_rate, finite(window_s) AS window_s,
        CASE WHEN NOT list_has_any(list_transform(per_position, lambda x: isfinite(x)), [false]) THEN per_position END
            AS per_position
    )
    FROM log_samples_of(run_ids)
), printed AS (
    SELECT
        l.*, r.config,
        epoch(l.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s,
        epoch(ts) - lag(epoch(ts)) OVER lines AS dt_s,
        lag(l.kind) OVER lines AS kind_before,
        lag(requests_running) OVER lines AS running_before,
        engine_line_has_window(l.definition, generation_tps) AS has_usual_window,
        coalesce(lag(generation_tps) OVER lines, 0) + coalesce(lag(prompt_tps) OVER lines, 0) > 0 AS follows_work,
        ts_source = 'stamp' AND lag(ts_source) OVER lines = 'stamp' AS are_stamped
    FROM finite_lines l LEFT JOIN stored_runs(run_ids) r ON r.id = l.run_id
    WHERE is_within(l.ts, with_lead_in(since), until)
    WINDOW lines AS (
        PARTITION BY l.run_id, l.definition, engine_index, rank, l.kind IS NULL AND generation_tps IS NULL
        ORDER BY ts, "offset"
    )
), timed_lines AS (
    SELECT
        * EXCLUDE (window_s, config, has_usual_window, follows_work, are_stamped),
        speculation_of(config_fields(config), false) AS speculates,
        coalesce(window_s, CASE WHEN has_usual_window THEN coalesce(
            engine_stated_window_s(config),
            median(CASE WHEN has_usual_window AND follows_work AND are_stamped AND dt_s > 0 THEN dt_s END) OVER of_rank
        ) END) AS window_s,
        median(dt_s) OVER of_rank AS usual_s
    FROM printed
    WINDOW of_rank AS (PARTITION BY run_id, definition, engine_index)
), lines_with_breaks AS (
    SELECT
        *,
        CASE WHEN generation_tps IS NOT NULL THEN coalesce(window_s, CASE WHEN kind = 'decode' THEN dt_s END) END AS decode_s,
        break_reason(false, dt_s, usual_s) AS broken
    FROM timed_lines
)
SELECT
    run_id, ts, since_ready_s, 'log' AS source, definition, engine_index, window_s, window_s AS covered_s,
    generation_tps AS decode_tps,
    engine_line_tokens_per_step(definition, kind, acceptance_length, speculates) AS tokens_per_step,
    NULL::DOUBLE AS steps_per_s,
    acceptance_length, acceptance_rate, per_position, prompt_tps,
    requests_running, requests_waiting, kv_usage_ratio, NULL::DOUBLE AS preemptions,
    log_activity(kind, kind_before, broken, generation_tps, prompt_tps, running_before, requests_running) AS activity,
    CASE
        WHEN generation_tps IS NOT NULL AND decode_s IS NULL THEN 'log_tells_no_window'
        ELSE 'log_counts_no_steps'
    END AS reason,
    generation_tps * decode_s AS decode_tokens, decode_s, NULL::DOUBLE AS steps,
    CASE WHEN broken IS NULL AND running_before = requests_running THEN requests_running END AS streams,
    {'kind': kind, 'usual_s': usual_s, 'accepted': accepted_tokens, 'drafted': drafted_tokens} AS printed
FROM lines_with_breaks;

-- The drafts that each line covers, for the sums of a run. A decode line of SGLang counts none, but gives tokens per
-- verify step. If no line of a run gives its time, and so its tokens, the running requests stand for its verify steps,
-- because every line covers the same number of steps.
CREATE OR REPLACE MACRO log_drafts(run_ids) AS TABLE
WITH lines AS (
    FROM log_lines(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids)
    WHERE printed.accepted IS NOT NULL OR (printed.kind = 'decode' AND acceptance_length IS NOT NULL)
), verify_lines AS (
    SELECT
        run_id, definition, acceptance_length, acceptance_rate,
        CASE
            WHEN max(decode_tokens) OVER (PARTITION BY run_id) > 0 THEN decode_tokens
            ELSE requests_running * acceptance_length
        END AS tokens
    FROM lines WHERE printed.accepted IS NULL
)
SELECT
    run_id, definition,
    drafts_of_line(printed.accepted, printed.drafted, acceptance_length, per_position) AS drafts,
    printed.accepted AS accepted, printed.drafted AS draft_tokens,
    CASE WHEN drafts > 0 THEN list_transform(per_position, lambda share: share * drafts) END AS accepted_per_pos,
    drafts > 0 AND per_position IS NULL AS hides_positions
FROM lines WHERE printed.accepted IS NOT NULL
UNION ALL
SELECT
    run_id, definition, verified_drafts(tokens, acceptance_length), verified_accepted(tokens, acceptance_length),
    verified_draft_tokens(tokens, acceptance_length, acceptance_rate), NULL, true
FROM verify_lines WHERE tokens > 0;
