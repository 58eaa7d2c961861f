-- Rates and acceptance printed by a log: the lines of a rank, or the sum of a run's ranks.

CREATE OR REPLACE MACRO log_rates(since, until, run_ids) AS TABLE
SELECT * EXCLUDE (printed) FROM log_lines(since, until, run_ids) WHERE is_within(ts, since, until);

-- A run known only by its log: its lines or, if ranks print lines of their own, at each line the sum of every rank's
-- newest one. A silent rank of vLLM is idle if its last line was, because vLLM skips empty windows; with any other
-- engine a silent rank makes the sum unknown. Drafts are counts if lines print them, else (SGLang: every step drafts)
-- per second, which is good for ratios only.
CREATE OR REPLACE MACRO run_log_rates(since, until, run_ids) AS TABLE
WITH lines AS MATERIALIZED (
    SELECT *, run_id IN (
        SELECT run_id FROM log_samples_of(run_ids) WHERE engine_index > 0 AND is_within(ts, with_lead_in(since), until)
    ) AS has_ranks
    FROM log_lines(since, until, run_ids)
), rank_lines AS (
    FROM lines WHERE has_ranks AND decode_tps IS NOT NULL AND (printed.kind IS NULL OR printed.kind = 'decode')
), line_times AS (
    SELECT *, epoch(moment) - lag(epoch(moment)) OVER (PARTITION BY run_id, definition ORDER BY moment) AS since_last_s
    FROM (SELECT DISTINCT run_id, definition, ts AS moment, since_ready_s FROM rank_lines)
), rank_times AS (
    FROM line_times JOIN (SELECT DISTINCT run_id, definition, engine_index FROM rank_lines) USING (run_id, definition)
), newest_lines AS (
    SELECT
        p.moment, p.since_ready_s, p.since_last_s, s.* EXCLUDE (since_ready_s), epoch(moment) - epoch(ts) AS silent_s,
        decode_tps = 0 AND coalesce(prompt_tps, 0) = 0 AS is_idle,
        is_idle OR break_reason(false, silent_s, printed.usual_s) IS NULL AS is_known,
        CASE WHEN printed.kind = 'decode' THEN decode_tps END AS verified_tps
    FROM rank_times p ASOF JOIN rank_lines s ON s.run_id = p.run_id AND s.definition = p.definition
        AND s.engine_index = p.engine_index AND s.ts <= p.moment
), ranks AS (
    SELECT
        * REPLACE (
            CASE WHEN is_known THEN decode_tps END AS decode_tps,
            CASE WHEN is_known THEN coalesce(prompt_tps, 0) END AS prompt_tps,
            CASE WHEN is_idle AND silent_s > 0 THEN 'idle' WHEN is_known THEN activity END AS activity
        ),
        CASE WHEN is_idle THEN 0 ELSE decode_tps / tokens_per_step END AS steps_ps,
        CASE WHEN is_idle THEN 0 ELSE coalesce(printed.accepted, verified_accepted(verified_tps, acceptance_length)) END AS accepted,
        CASE WHEN is_idle THEN 0 ELSE coalesce(
            drafts_of_line(printed.accepted, printed.drafted, acceptance_length, per_position),
            verified_drafts(verified_tps, acceptance_length)
        ) END AS drafts,
        CASE WHEN is_idle THEN 0 ELSE coalesce(
            printed.drafted, verified_draft_tokens(verified_tps, acceptance_length, acceptance_rate)
        ) END AS draft_tokens,
        CASE WHEN NOT is_known THEN 'rank_silent rank=' || engine_index || ' seconds=' || round(silent_s)::BIGINT END AS silence
    FROM newest_lines
), rank_sums AS (
    SELECT
        run_id, moment AS ts, since_ready_s, 'log' AS source, definition, max(window_s) AS window_s,
        sum_of_all(decode_tps) AS decode_tps, least(since_last_s, max(window_s)) AS decode_s,
        ratio(sum_of_all(decode_tps), sum_of_all(steps_ps)) AS tokens_per_step,
        acceptance_length_of(sum_of_all(accepted), sum_of_all(drafts)) AS acceptance_length,
        acceptance_rate_of(sum_of_all(accepted), sum_of_all(draft_tokens)) AS acceptance_rate,
        per_position_of(sum_of_lists(list_transform(per_position, lambda x: x * drafts)), sum(drafts)) AS per_position,
        sum_of_all(prompt_tps) AS prompt_tps, sum_of_all(requests_running) AS requests_running,
        sum_of_all(requests_waiting) AS requests_waiting, avg(kv_usage_ratio) AS kv_usage_ratio,
        rank_activity(activity) AS activity,
        coalesce(max(silence), max(reason)) AS reason
    FROM ranks GROUP BY run_id, moment, since_ready_s, since_last_s, definition
)
FROM (
    SELECT * EXCLUDE (printed, has_ranks) FROM lines WHERE NOT has_ranks
    UNION ALL BY NAME
    SELECT *, decode_s AS covered_s, decode_tps * decode_s AS decode_tokens FROM rank_sums
)
WHERE is_within(ts, since, until);
