-- Rates and acceptance from counters: ratios of summed increments over one interval or over a window.

-- One row per scrape, and per engine rank if by_rank. progress: the name of a relation with the rows of `progress_since`.
-- Most servers have one rank: where each row is its own scrape, grouping would take a quarter of a whole run's time.
CREATE OR REPLACE MACRO scrape_sums_in(progress, by_rank, run_ids) AS TABLE
WITH single_rank_definitions AS (
    SELECT run_id, source, definition FROM query_table(progress) GROUP BY ALL
    HAVING min(engine_index) IS NOT DISTINCT FROM max(engine_index) AND count(engine_index) IN (0, count(*))
), scrapes AS (
    FROM query_table(progress) SEMI JOIN single_rank_definitions USING (run_id, source, definition)
    UNION ALL BY NAME
    SELECT
        run_id, source, definition, CASE WHEN by_rank THEN engine_index END AS engine_index, max(ts) AS ts, mono_s,
        max(dt_s) AS dt_s, CASE WHEN count(covered_s) = count(*) THEN max(covered_s) END AS covered_s,
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
        {
            'tokens': sum_of_all(bridged.tokens), 's': max(bridged.s), 'steps': sum_of_all(bridged.steps),
            'drafts': sum_of_all(bridged.drafts), 'accepted': sum_of_all(bridged.accepted)
        } AS bridged,
        rank_activity(activity) AS activity,
        max(reason) AS reason
    FROM query_table(progress) ANTI JOIN single_rank_definitions USING (run_id, source, definition)
    GROUP BY run_id, source, definition, CASE WHEN by_rank THEN engine_index END, mono_s
)
SELECT
    s.run_id, s.source, s.definition, CASE WHEN by_rank THEN s.engine_index END AS rank, s.ts, s.mono_s,
    epoch(s.ts) - epoch(coalesce(r.ready_at, r.started_at, r.created_at)) AS since_ready_s,
    s.dt_s, s.covered_s, s.decode_tokens, s.decode_s, s.step_tokens, s.steps, s.step_s, s.decode_steps,
    s.drafts, s.draft_tokens, s.accepted, s.accepted_per_pos, s.prompt_tokens, s.preemptions,
    s.running_before, s.requests_running, s.requests_waiting, s.kv_usage_ratio,
    s.bridged.tokens AS bridged_tokens, s.bridged.s AS bridged_s, s.bridged.steps AS bridged_steps,
    s.bridged.drafts AS bridged_drafts, s.bridged.accepted AS bridged_accepted, s.activity, s.reason
FROM scrapes s LEFT JOIN stored_runs(run_ids) r ON r.id = s.run_id;

-- w: seconds of a window aligned to the time at which the run became ready; null: the intervals as measured.
-- sums: the name of a relation with the rows of `scrape_sums_in`, with the same by_rank.
CREATE OR REPLACE MACRO rates_in(sums, w, by_rank, since, until) AS TABLE
WITH scrapes AS (
    -- The terms of the ratios: a term is unknown where the other one is.
    SELECT
        run_id, source, definition, rank, ts, mono_s, since_ready_s, dt_s, dt_s AS longest_s,
        CASE WHEN w IS NULL THEN mono_s ELSE floor((since_ready_s - dt_s / 2) / w) END AS place,
        coalesce(covered_s, 0) AS covered_s,
        decode_tokens, CASE WHEN decode_tokens IS NOT NULL THEN decode_s END AS decode_s,
        CASE WHEN steps IS NOT NULL THEN step_tokens END AS step_tokens, steps AS ratio_steps,
        CASE WHEN step_s IS NOT NULL THEN steps END AS steps, CASE WHEN steps IS NOT NULL THEN step_s END AS step_s,
        -- Only if all tokens of a window have steps, because one is divided by the other.
        decode_tokens IS NOT NULL AND step_s IS NULL AS lacks_steps,
        CASE WHEN decode_tokens IS NOT NULL AND step_s IS NOT NULL THEN decode_steps END AS decode_steps,
        CASE WHEN accepted IS NOT NULL THEN drafts END AS drafts, draft_tokens, accepted, accepted_per_pos,
        prompt_tokens, CASE WHEN prompt_tokens IS NOT NULL THEN covered_s END AS prompt_s, preemptions,
        running_before IS NOT NULL AS is_running_known, least(running_before, requests_running) AS fewest_running,
        greatest(running_before, requests_running) AS most_running,
        bridged_tokens, CASE WHEN bridged_tokens IS NOT NULL THEN bridged_s END AS bridged_s, bridged_steps,
        bridged_drafts, bridged_accepted,
        requests_running, requests_waiting, kv_usage_ratio, activity, reason
    FROM query_table(sums)
    -- No interval ends at a scrape that lacks a rank (no dt_s); a rank has none of its own where it is new (0).
    WHERE CASE WHEN w IS NULL THEN NOT by_rank OR dt_s IS NULL OR dt_s > 0 ELSE dt_s >= 0 END
), window_sums AS (
    SELECT * EXCLUDE (mono_s, lacks_steps) FROM scrapes WHERE w IS NULL
    UNION ALL BY NAME
    SELECT
        run_id, source, definition, rank, place, max(ts) AS ts, max(since_ready_s) AS since_ready_s,
        sum(dt_s) AS dt_s, max(longest_s) AS longest_s, sum(covered_s) AS covered_s,
        sum(decode_tokens) AS decode_tokens, sum(decode_s) AS decode_s,
        sum(step_tokens) AS step_tokens, sum(ratio_steps) AS ratio_steps, sum(steps) AS steps, sum(step_s) AS step_s,
        CASE WHEN NOT bool_or(lacks_steps) THEN sum(decode_steps) END AS decode_steps,
        sum(drafts) AS drafts, sum(draft_tokens) AS draft_tokens, sum(accepted) AS accepted,
        CASE WHEN count(*) FILTER (accepted_per_pos IS NULL AND accepted > 0) = 0
            THEN sum_of_lists(accepted_per_pos) END AS accepted_per_pos,
        sum(prompt_tokens) AS prompt_tokens, sum(prompt_s) AS prompt_s, sum(preemptions) AS preemptions,
        bool_and(is_running_known) AS is_running_known, min(fewest_running) AS fewest_running,
        max(most_running) AS most_running,
        sum(bridged_tokens) AS bridged_tokens, sum(bridged_s) AS bridged_s,
        CASE WHEN count(bridged_tokens) = count(bridged_steps) THEN sum(bridged_steps) END AS bridged_steps,
        sum(bridged_drafts) AS bridged_drafts, sum(bridged_accepted) AS bridged_accepted,
        arg_max(requests_running, mono_s) AS requests_running, arg_max(requests_waiting, mono_s) AS requests_waiting,
        arg_max(kv_usage_ratio, mono_s) AS kv_usage_ratio,
        common_activity(activity) AS activity,
        max(reason) AS reason
    FROM scrapes WHERE w IS NOT NULL
    GROUP BY run_id, source, definition, rank, place
), rate_terms AS (
    -- A window is never shorter than the time between two scrapes.
    SELECT
        *, w IS NOT NULL AND longest_s <= 1.25 * w AS is_cut,
        CASE WHEN is_running_known AND fewest_running = most_running AND requests_running IS NOT NULL
            THEN most_running END AS streams,
        CASE WHEN bridged_tokens IS NOT NULL THEN {
            'tokens': bridged_tokens, 's': bridged_s, 'steps': bridged_steps, 'drafts': bridged_drafts,
            'accepted': bridged_accepted
        } END AS bridged
    FROM window_sums
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
FROM rate_terms
WHERE is_within(ts, since, until);

-- by_rank: one row per engine rank, or one per run.
CREATE OR REPLACE MACRO engine_rates(w, by_rank, since, until, run_ids) AS TABLE
WITH progress_now AS (
    FROM progress_since(since, until, run_ids)
), sums_now AS (
    FROM scrape_sums_in('progress_now', by_rank, run_ids)
)
FROM rates_in('sums_now', w, by_rank, since, until);
