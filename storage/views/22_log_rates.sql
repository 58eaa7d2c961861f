-- What the lines of a log say: each is already a rate over a window of its engine's own, which cannot be cut anew.

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

-- How many drafts a line speaks of. One whose mean length rounds to 1 tells it by its draft positions: where each draft
-- is as long as the longest, drafted tokens over positions.
CREATE OR REPLACE MACRO drafts_of_line(accepted, drafted, mean_length, positions) AS CASE
    WHEN drafted = 0 THEN 0
    WHEN accepted > 0 AND mean_length > 1 THEN accepted / (mean_length - 1)
    ELSE drafted / nullif(len(positions), 0)
END;

-- Lines with the time that they speak of: `window_s` as printed or as the engine keeps it, `decode_s` also where only
-- the line before tells it. vLLM leaves out lines of empty windows alone, so a line behind one with tokens comes after
-- exactly one window, always the same: the usual of these distances, unless the run's environment
-- states it. SGLang's decode line speaks of the time since the decode line before it.
CREATE OR REPLACE MACRO log_lines(since) AS TABLE
WITH printed AS (
    SELECT
        l.*, r.config,
        epoch(l.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s,
        epoch(ts) - lag(epoch(ts)) OVER lines AS dt_s,
        lag(l.kind) OVER lines AS kind_before,
        lag(requests_running) OVER lines AS running_before,
        l.definition = 'vllm.log' AND generation_tps IS NOT NULL AS has_usual_window,
        coalesce(lag(generation_tps) OVER lines, 0) + coalesce(lag(prompt_tps) OVER lines, 0) > 0 AS follows_work,
        ts_source = 'stamp' AND lag(ts_source) OVER lines = 'stamp' AS are_stamped
    FROM log_samples l LEFT JOIN raw.runs r ON r.id = l.run_id
    WHERE since IS NULL OR l.ts >= since - INTERVAL 1 MINUTE
    WINDOW lines AS (
        PARTITION BY l.run_id, l.definition, engine_index, rank, l.kind IS NULL AND generation_tps IS NULL
        ORDER BY ts, "offset"
    )
), timed AS (
    SELECT
        * EXCLUDE (window_s, config, has_usual_window, follows_work, are_stamped),
        speculation_of(config, false) AS speculates,
        coalesce(window_s, CASE WHEN has_usual_window THEN coalesce(
            TRY_CAST(config->>'$.env.VLLM_LOG_STATS_INTERVAL' AS DOUBLE),
            median(CASE WHEN has_usual_window AND follows_work AND are_stamped AND dt_s > 0 THEN dt_s END) OVER of_rank
        ) END) AS window_s,
        median(dt_s) OVER of_rank AS usual_s
    FROM printed
    WINDOW of_rank AS (PARTITION BY run_id, definition, engine_index)
), judged AS (
    SELECT
        *,
        CASE WHEN generation_tps IS NOT NULL THEN coalesce(window_s, CASE WHEN kind = 'decode' THEN dt_s END) END AS decode_s,
        break_reason(false, dt_s, usual_s) AS broken
    FROM timed
)
SELECT
    run_id, ts, since_ready_s, 'log' AS source, definition, engine_index, window_s, window_s AS covered_s,
    generation_tps AS decode_tps,
    CASE WHEN definition = 'sglang.log' AND kind = 'decode' THEN
        coalesce(acceptance_length, CASE WHEN NOT speculates THEN 1 END)
    END AS tokens_per_step,
    NULL::DOUBLE AS steps_per_s,
    acceptance_length, acceptance_rate, per_position, prompt_tps,
    requests_running, requests_waiting, kv_usage_ratio, NULL::DOUBLE AS preemptions,
    log_activity(kind, kind_before, broken, generation_tps, prompt_tps, running_before, requests_running) AS activity,
    CASE
        WHEN generation_tps IS NOT NULL AND decode_s IS NULL THEN 'the log does not tell over which time its lines speak'
        ELSE 'the log has no step counter'
    END AS reason,
    generation_tps * decode_s AS decode_tokens, decode_s, NULL::DOUBLE AS steps,
    {'kind': kind, 'usual_s': usual_s, 'accepted': accepted_tokens, 'drafted': drafted_tokens} AS printed
FROM judged;

-- The drafts that each line tells of, for the sums of a run. A decode line of SGLang counts none, but tells tokens per
-- verify step, and every step drafts: its tokens over that length are its drafts. Where no line of a run tells its time,
-- and so its tokens, the running requests stand for them, for each line speaks of as many steps.
CREATE OR REPLACE MACRO log_drafts() AS TABLE
WITH verifying AS (
    SELECT
        run_id, definition, acceptance_length, acceptance_rate,
        CASE
            WHEN max(decode_tokens) OVER (PARTITION BY run_id) > 0 THEN decode_tokens / acceptance_length
            ELSE requests_running
        END AS verified
    FROM log_lines(NULL::TIMESTAMPTZ)
    WHERE printed.kind = 'decode' AND printed.accepted IS NULL AND acceptance_length IS NOT NULL
)
SELECT
    run_id, definition, drafts_of_line(accepted_tokens, drafted_tokens, acceptance_length, per_position) AS drafts,
    accepted_tokens AS accepted, drafted_tokens AS draft_tokens
FROM log_samples WHERE accepted_tokens IS NOT NULL
UNION ALL
SELECT
    run_id, definition, verified, verified * (acceptance_length - 1),
    verified * (acceptance_length - 1) / nullif(acceptance_rate, 0)
FROM verifying WHERE verified > 0;

CREATE OR REPLACE MACRO log_rates(since) AS TABLE
SELECT * EXCLUDE (printed) FROM log_lines(since) WHERE since IS NULL OR ts > since;

-- A run known by its log: its lines, or where ranks print each their own, at the moment of each line the sum of every
-- rank's newest. A silent rank of vLLM is idle if its last line was, for vLLM leaves out empty windows; of any other a
-- silence makes the sum unknown. Drafts are counts where lines print them, else (SGLang: every step drafts) per second:
-- good for ratios only.
CREATE OR REPLACE MACRO run_log_rates(since) AS TABLE
WITH lines AS MATERIALIZED (
    SELECT *, run_id IN (SELECT run_id FROM log_samples WHERE engine_index > 0) AS has_ranks FROM log_lines(since)
), spoken AS (
    FROM lines WHERE has_ranks AND decode_tps IS NOT NULL AND (printed.kind IS NULL OR printed.kind = 'decode')
), moments AS (
    SELECT *, epoch(moment) - lag(epoch(moment)) OVER (PARTITION BY run_id, definition ORDER BY moment) AS since_last_s
    FROM (SELECT DISTINCT run_id, definition, ts AS moment, since_ready_s FROM spoken)
), places AS (
    FROM moments JOIN (SELECT DISTINCT run_id, definition, engine_index FROM spoken) USING (run_id, definition)
), newest AS (
    SELECT
        p.moment, p.since_ready_s, p.since_last_s, s.* EXCLUDE (since_ready_s), epoch(moment) - epoch(ts) AS silent_s,
        decode_tps = 0 AND coalesce(prompt_tps, 0) = 0 AS is_idle,
        is_idle OR break_reason(false, silent_s, printed.usual_s) IS NULL AS is_known,
        CASE WHEN printed.kind = 'decode' THEN decode_tps / acceptance_length END AS verified
    FROM places p ASOF JOIN spoken s ON s.run_id = p.run_id AND s.definition = p.definition
        AND s.engine_index = p.engine_index AND s.ts <= p.moment
), ranks AS (
    SELECT
        * REPLACE (
            CASE WHEN is_known THEN decode_tps END AS decode_tps,
            CASE WHEN is_known THEN coalesce(prompt_tps, 0) END AS prompt_tps,
            CASE WHEN is_idle AND silent_s > 0 THEN 'idle' WHEN is_known THEN activity END AS activity
        ),
        CASE WHEN is_idle THEN 0 ELSE decode_tps / tokens_per_step END AS steps_ps,
        CASE WHEN is_idle THEN 0 ELSE coalesce(printed.accepted, decode_tps - verified) END AS accepted,
        CASE WHEN is_idle THEN 0 ELSE coalesce(
            drafts_of_line(printed.accepted, printed.drafted, acceptance_length, per_position), verified
        ) END AS drafts,
        CASE
            WHEN is_idle THEN 0 ELSE coalesce(printed.drafted, (decode_tps - verified) / nullif(acceptance_rate, 0))
        END AS draft_tokens,
        CASE WHEN NOT is_known THEN 'rank ' || engine_index || ' has said nothing for ' || round(silent_s)::BIGINT || ' s' END AS silence
    FROM newest
), summed AS (
    SELECT
        run_id, moment AS ts, since_ready_s, 'log' AS source, definition, max(window_s) AS window_s,
        sum_of_all(decode_tps) AS decode_tps, least(since_last_s, max(window_s)) AS decode_s,
        ratio(sum_of_all(decode_tps), sum_of_all(steps_ps)) AS tokens_per_step,
        1 + ratio(sum_of_all(accepted), sum_of_all(drafts)) AS acceptance_length,
        ratio(sum_of_all(accepted), sum_of_all(draft_tokens)) AS acceptance_rate,
        list_transform(
            add_lists(list(list_transform(per_position, lambda x: x * drafts))), lambda x: x / nullif(sum(drafts), 0)
        ) AS per_position,
        sum_of_all(prompt_tps) AS prompt_tps, sum_of_all(requests_running) AS requests_running,
        sum_of_all(requests_waiting) AS requests_waiting, avg(kv_usage_ratio) AS kv_usage_ratio,
        rank_activity(list(activity) FILTER (activity IS NOT NULL), count(*)) AS activity,
        coalesce(max(silence), max(reason)) AS reason
    FROM ranks GROUP BY run_id, moment, since_ready_s, since_last_s, definition
)
FROM (
    SELECT * EXCLUDE (printed, has_ranks) FROM lines WHERE NOT has_ranks
    UNION ALL BY NAME
    SELECT *, decode_s AS covered_s, decode_tps * decode_s AS decode_tokens FROM summed
)
WHERE since IS NULL OR ts > since;
