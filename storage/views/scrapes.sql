-- Increments between two scrapes of an engine's counters, over monotonic time. Each engine's own file derives the few
-- quantities from which all rates follow:
--   decode_tokens over decode_s, step_tokens over steps, steps over step_s, accepted over drafts and draft_tokens.
-- In all files: run_ids are the requested runs, null for all; rows are selected after since
-- and up to until; a null bound is unbounded.

-- Facts about a run's counters from its record: whether its server is one process started by Pitwall, and its settings.
CREATE OR REPLACE MACRO recorded_settings_of(run_ids) AS TABLE
SELECT
    id AS run_id, kind = 'launched' AS is_ours,
    speculation_of(config_fields(config), (logged_facts->>'$.speculative_method') IS NOT NULL) AS speculates_by_record,
    coalesce(config->>'$.speculative.num_tokens', logged_facts->>'$.speculative_num_tokens')::DOUBLE AS num_tokens
FROM stored_runs(run_ids);

-- A median of a whole run is joined to its rows: as a window function it sorts them once more. Rows of other tools may
-- have no rank, which equals itself here.

-- The scrapes that are used: of two that are too close, the later one is skipped. A scrape that lacks a rank is_short:
-- the next complete one covers the time since the last complete one. Only the columns that decide this are sorted, since
-- sorting all of them takes most of the time.
CREATE OR REPLACE MACRO used_scrapes_of(since, until, run_ids) AS TABLE
WITH scrape_gaps AS (
    SELECT
        run_id, definition, engine_index, mono_s, mono_s - lag(mono_s) OVER scrapes AS gap_s,
        coalesce(generation_tokens_total, decode_tokens_total, requests_running, kv_usage_ratio) IS NOT NULL AS has_values
    FROM counter_samples_of(run_ids)
    WHERE is_within(ts, with_lead_in(since), until)
    WINDOW scrapes AS (PARTITION BY run_id, definition, engine_index ORDER BY mono_s)
), usual_gaps AS (
    SELECT run_id, definition, engine_index, median(gap_s) AS usual_gap_s, min(mono_s) AS first_s,
        count(*) OVER (PARTITION BY run_id, definition) AS ranks_ever
    FROM scrape_gaps GROUP BY run_id, definition, engine_index
), gaps_of_ranks AS (
    SELECT scrape_gaps.*, ranks_ever, is_too_soon(gap_s, usual_gap_s) AS is_too_soon
    FROM scrape_gaps JOIN usual_gaps ON usual_gaps.run_id = scrape_gaps.run_id AND usual_gaps.definition = scrape_gaps.definition
        AND usual_gaps.engine_index IS NOT DISTINCT FROM scrape_gaps.engine_index
    WHERE ranks_ever > 1 OR is_too_soon(gap_s, usual_gap_s)
), rank_counts AS (
    SELECT run_id, definition, mono_s, count(*) FILTER (has_values) AS ranks_with_values, count(*) AS ranks_here
    FROM gaps_of_ranks WHERE ranks_ever > 1
    GROUP BY ALL HAVING NOT bool_and(is_too_soon)
), early_scrapes AS (
    -- A scrape that is stored twice has no interval: neither of the two is skipped here, since both have this time.
    SELECT run_id, definition, engine_index, mono_s FROM gaps_of_ranks WHERE is_too_soon AND gap_s > 0
), expected_ranks AS (
    -- The least time so far is the first one.
    SELECT *, max(greatest(ranks_with_values, ranks_here)) OVER so_far AS ranks, mono_s > min(mono_s) OVER so_far AS is_later
    FROM rank_counts
    WINDOW so_far AS (PARTITION BY run_id, definition ORDER BY mono_s)
)
-- A server that only ever had one rank, as most, is told apart first: its rows need no sorting by scrape.
SELECT
    scrapes.*, settings.* EXCLUDE (run_id), ranks_with_values, ranks,
    coalesce(is_later, scrapes.mono_s > first_s) AS is_later, coalesce(ranks_with_values BETWEEN 1 AND ranks - 1, false) AS is_short
FROM counter_samples_of(run_ids) scrapes
LEFT JOIN recorded_settings_of(run_ids) settings USING (run_id)
JOIN usual_gaps ON usual_gaps.run_id = scrapes.run_id AND usual_gaps.definition = scrapes.definition
    AND usual_gaps.engine_index IS NOT DISTINCT FROM scrapes.engine_index
LEFT JOIN expected_ranks ON expected_ranks.run_id = scrapes.run_id AND expected_ranks.definition = scrapes.definition
    AND expected_ranks.mono_s = scrapes.mono_s
ANTI JOIN early_scrapes ON early_scrapes.run_id = scrapes.run_id AND early_scrapes.definition = scrapes.definition
    AND early_scrapes.engine_index IS NOT DISTINCT FROM scrapes.engine_index AND early_scrapes.mono_s = scrapes.mono_s
WHERE is_within(ts, with_lead_in(since), until);

-- For all engines at once, planned and read once. An engine's own macro gets the name of these rows, and
-- uses the rows with its definitions.
CREATE OR REPLACE MACRO scrape_intervals(since, until, run_ids) AS TABLE
WITH deltas AS (
    SELECT
        run_id, definition, engine_index, ts, mono_s, is_short, is_ours, speculates_by_record, num_tokens,
        CASE WHEN NOT is_short THEN finite(requests_running) END AS requests_running,
        CASE WHEN NOT is_short THEN finite(requests_waiting) END AS requests_waiting,
        CASE WHEN NOT is_short THEN finite(kv_usage_ratio) END AS kv_usage_ratio,
        finite(accept_length_gauge) AS accept_length_gauge, finite(accept_rate_gauge) AS accept_rate_gauge,
        len(accepted_per_pos_total) AS positions,
        CASE WHEN is_short THEN 'ranks_missing missing=' || (ranks - ranks_with_values) || ' ranks=' || ranks END AS missing,
        lag(mono_s) OVER scrapes IS NULL AND is_later AS is_new,
        CASE WHEN is_short THEN NULL WHEN is_new THEN 0 ELSE mono_s - lag(mono_s) OVER scrapes END AS dt_s,
        process_start_s <> lag(process_start_s) OVER scrapes AS is_restarted,
        process_start_s = lag(process_start_s) OVER scrapes AS is_same_process,
        finite(lag(requests_running) OVER scrapes) AS running_before,
        grown(generation_tokens_total, lag(generation_tokens_total) OVER scrapes) AS generation,
        grown(first_tokens_total, lag(first_tokens_total) OVER scrapes) AS first_tokens,
        grown(inter_token_count_total, lag(inter_token_count_total) OVER scrapes) AS inter_token_count,
        grown(decode_tokens_total, lag(decode_tokens_total) OVER scrapes) AS decoded,
        grown(decode_seconds_total, lag(decode_seconds_total) OVER scrapes) AS decode_seconds,
        grown(prompt_tokens_total, lag(prompt_tokens_total) OVER scrapes) AS prompt_tokens,
        grown(drafts_total, lag(drafts_total) OVER scrapes) AS drafts,
        grown(draft_tokens_total, lag(draft_tokens_total) OVER scrapes) AS draft_tokens,
        grown(accepted_tokens_total, lag(accepted_tokens_total) OVER scrapes) AS accepted,
        grown(preemptions_total, lag(preemptions_total) OVER scrapes) AS preemptions,
        subtract_lists(
            accepted_per_pos_total,
            positions_before(
                accepted_per_pos_total, lag(accepted_per_pos_total) OVER scrapes, lag(accepted_tokens_total) OVER scrapes
            )
        ) AS accepted_per_pos
    FROM used_scrapes_of(since, until, run_ids)
    WINDOW scrapes AS (PARTITION BY run_id, definition, engine_index, is_short ORDER BY mono_s)
), usual_intervals AS (
    SELECT run_id, definition, engine_index, median(dt_s) AS usual_s FROM deltas GROUP BY ALL
), deltas_with_resets AS (
    SELECT
        deltas.*, usual_s,
        coalesce(is_restarted OR least(generation, first_tokens, inter_token_count, decoded, decode_seconds,
            prompt_tokens, drafts, draft_tokens, accepted, preemptions) < 0, false) AS is_reset
    FROM deltas JOIN usual_intervals ON usual_intervals.run_id = deltas.run_id AND usual_intervals.definition = deltas.definition
        AND usual_intervals.engine_index IS NOT DISTINCT FROM deltas.engine_index
)
SELECT
    * EXCLUDE (is_reset, usual_s, missing, is_new, is_short, is_restarted, is_same_process, is_ours, speculates_by_record),
    CASE WHEN accept_length_gauge > 0 OR accepted > 0 THEN true ELSE speculates_by_record END AS speculates,
    coalesce(first_tokens, 0) + coalesce(prompt_tokens, 0) AS fresh_tokens,
    coalesce(
        missing,
        CASE WHEN is_new THEN 'rank_is_new rank=' || engine_index END,
        break_reason(is_reset, dt_s, usual_s)
    ) AS broken,
    -- Increments across a gap count as a sum if the server is known to be the same; a reset is never counted.
    missing IS NULL AND NOT is_new AND NOT is_reset
        AND (is_silent(dt_s, usual_s) IS NOT TRUE OR coalesce(is_same_process, is_ours, false)) AS is_counted
FROM deltas_with_resets
WHERE dt_s > 0 OR is_short OR is_new;
