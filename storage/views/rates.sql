-- Rates and acceptance from counters: ratios of summed increments over one interval or over a window.

-- One row per scrape, and per engine rank if by_rank. progress: the name of a relation with the rows of `progress_since`.
CREATE OR REPLACE MACRO scrape_sums_in(progress, by_rank, run_ids) AS TABLE
WITH placed AS (
    SELECT
        p.*,
        CASE WHEN by_rank THEN p.engine_index END AS rank,
        epoch(p.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s
    FROM query_table(progress) p LEFT JOIN stored_runs(run_ids) r ON r.id = p.run_id
)
SELECT
    run_id, source, definition, rank, ts, mono_s, since_ready_s, max(dt_s) AS dt_s,
    CASE WHEN count(covered_s) = count(*) THEN max(covered_s) END AS covered_s,
    sum_of_all(decode_tokens) AS decode_tokens, max(decode_s) AS decode_s,
    sum_of_all(step_tokens) AS step_tokens, sum_of_all(steps) AS steps, max(step_s) AS step_s,
    sum_of_all(decode_steps) AS decode_steps,
    sum_of_all(drafts) AS drafts, sum_of_all(draft_tokens) AS draft_tokens, sum_of_all(accepted) AS accepted,
    CASE WHEN count(*) FILTER (accepted_per_pos IS NULL AND accepted > 0) = 0
        THEN sum_of_lists(accepted_per_pos) END AS accepted_per_pos,
    sum_of_all(prompt_tokens) AS prompt_tokens, sum_of_all(preemptions) AS preemptions,
    sum_of_all(running_before) AS running_before,
    sum_of_all(requests_running) AS requests_running, sum_of_all(requests_waiting) AS requests_waiting,
    avg(kv_usage_ratio) AS kv_usage_ratio,
    sum_of_all(bridged.tokens) AS bridged_tokens, max(bridged.s) AS bridged_s,
    sum_of_all(bridged.steps) AS bridged_steps, sum_of_all(bridged.drafts) AS bridged_drafts,
    sum_of_all(bridged.accepted) AS bridged_accepted,
    rank_activity(activity) AS activity,
    max(reason) AS reason
FROM placed
GROUP BY run_id, source, definition, rank, ts, mono_s, since_ready_s;

-- w: seconds of a window aligned to the time at which the run became ready; null: the intervals as measured.
-- sums: the name of a relation with the rows of `scrape_sums_in`, with the same by_rank.
CREATE OR REPLACE MACRO rates_in(sums, w, by_rank, since, until) AS TABLE
WITH scrapes AS (
    SELECT *, CASE WHEN w IS NULL THEN mono_s ELSE floor((since_ready_s - dt_s / 2) / w) END AS place
    FROM query_table(sums)
    -- No interval ends at a scrape that lacks a rank (no dt_s); a rank has none of its own where it is new (0).
    WHERE CASE WHEN w IS NULL THEN NOT by_rank OR dt_s IS NULL OR dt_s > 0 ELSE dt_s >= 0 END
), summed AS (
    SELECT
        run_id, source, definition, rank, place, max(ts) AS ts, max(since_ready_s) AS since_ready_s,
        sum(dt_s) AS dt_s, max(dt_s) AS longest_s, coalesce(sum(covered_s), 0) AS covered_s,
        sum(decode_tokens) AS decode_tokens, sum(decode_s) FILTER (decode_tokens IS NOT NULL) AS decode_s,
        sum(step_tokens) FILTER (steps IS NOT NULL) AS step_tokens,
        sum(steps) AS ratio_steps, sum(steps) FILTER (step_s IS NOT NULL) AS steps,
        sum(step_s) FILTER (steps IS NOT NULL) AS step_s,
        -- Only if all tokens of the window have steps, because one is divided by the other.
        CASE WHEN count(decode_tokens) = count(step_s) FILTER (decode_tokens IS NOT NULL)
            THEN sum(decode_steps) FILTER (decode_tokens IS NOT NULL) END AS decode_steps,
        sum(drafts) FILTER (accepted IS NOT NULL) AS drafts, sum(draft_tokens) AS draft_tokens,
        sum(accepted) AS accepted,
        CASE WHEN count(*) FILTER (accepted_per_pos IS NULL AND accepted > 0) = 0
            THEN sum_of_lists(accepted_per_pos) END AS accepted_per_pos,
        sum(prompt_tokens) AS prompt_tokens, sum(covered_s) FILTER (prompt_tokens IS NOT NULL) AS prompt_s,
        sum(preemptions) AS preemptions,
        CASE WHEN count(running_before) = count(*) AND min(least(running_before, requests_running))
            = max(greatest(running_before, requests_running)) THEN max(requests_running) END AS streams,
        CASE WHEN count(bridged_tokens) > 0 THEN {
            'tokens': sum(bridged_tokens), 's': sum(bridged_s) FILTER (bridged_tokens IS NOT NULL),
            'steps': CASE WHEN count(bridged_tokens) = count(bridged_steps) THEN sum(bridged_steps) END,
            'drafts': sum(bridged_drafts), 'accepted': sum(bridged_accepted)
        } END AS bridged,
        arg_max(requests_running, mono_s) AS requests_running, arg_max(requests_waiting, mono_s) AS requests_waiting,
        arg_max(kv_usage_ratio, mono_s) AS kv_usage_ratio,
        common_activity(activity) AS activity,
        max(reason) AS reason
    FROM scrapes
    GROUP BY run_id, source, definition, rank, place
), measured AS (
    -- A window is never shorter than the time between two scrapes.
    SELECT *, w IS NOT NULL AND longest_s <= 1.25 * w AS is_cut FROM summed
)
SELECT
    run_id, ts,
    CASE WHEN is_cut THEN (place + 1) * w ELSE since_ready_s END AS since_ready_s,
    source, definition, rank AS engine_index,
    CASE WHEN is_cut THEN w ELSE dt_s END::DOUBLE AS window_s, covered_s,
    ratio(decode_tokens, decode_s) AS decode_tps,
    ratio(step_tokens, ratio_steps) AS tokens_per_step,
    ratio(steps, step_s) AS steps_per_s,
    acceptance_length_of(accepted, drafts) AS acceptance_length,
    acceptance_rate_of(accepted, draft_tokens) AS acceptance_rate,
    per_position_of(accepted_per_pos, drafts) AS per_position,
    ratio(prompt_tokens, prompt_s) AS prompt_tps,
    requests_running, requests_waiting, kv_usage_ratio, preemptions, activity, reason,
    decode_tokens, decode_s, steps, decode_steps, drafts, accepted, streams, bridged
FROM measured
WHERE is_within(ts, since, until);

-- by_rank: one row per engine rank, or one per run.
CREATE OR REPLACE MACRO engine_rates(w, by_rank, since, until, run_ids) AS TABLE
WITH progress_now AS (
    FROM progress_since(since, until, run_ids)
), sums_now AS (
    FROM scrape_sums_in('progress_now', by_rank, run_ids)
)
FROM rates_in('sums_now', w, by_rank, since, until);
