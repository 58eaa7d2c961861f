-- Acceptance of each run over its whole life, per source: ratios of sums. If no drafted token was accepted, the length
-- is 1, whatever the number of drafts. Drafts during a gap count, because counters continue.

-- intervals: the name of the relation with the rows of `counter_intervals` for all of these runs.
CREATE OR REPLACE MACRO acceptance_in(intervals, run_ids) AS TABLE
WITH sums AS (
    SELECT
        run_id, definition, 'counter' AS source, sum_of_all(drafts) AS drafts, sum(accepted) AS accepted,
        sum_of_all(draft_tokens) AS draft_tokens,
        CASE WHEN count(*) FILTER (accepted_per_pos IS NULL AND accepted > 0) = 0
            THEN sum_of_lists(accepted_per_pos) END AS accepted_per_pos
    FROM query_table(intervals) WHERE is_counted AND accepted IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT
        run_id, definition, 'log', sum_of_all(drafts), sum(accepted), sum_of_all(draft_tokens),
        CASE WHEN NOT bool_or(hides_positions) THEN sum_of_lists(accepted_per_pos) END
    FROM log_drafts(run_ids) GROUP BY ALL
)
SELECT
    run_id, definition, source, coalesce(draft_tokens, drafts) AS drafted,
    CASE WHEN accepted = 0 AND drafted > 0 THEN 1 ELSE acceptance_length_of(accepted, drafts) END AS acceptance_length,
    acceptance_rate_of(accepted, draft_tokens) AS acceptance_rate,
    per_position_of(accepted_per_pos, drafts) AS per_position
FROM sums;

CREATE OR REPLACE MACRO acceptance_of(run_ids) AS TABLE
WITH intervals AS (
    FROM counter_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids)
)
FROM acceptance_in('intervals', run_ids);

-- From one source: the engine's counters, else its log. A source with a length is preferred to one without, and one
-- that saw drafts to one that saw none.
CREATE OR REPLACE MACRO best_acceptance_in(intervals, run_ids) AS TABLE
FROM acceptance_in(intervals, run_ids)
QUALIFY row_number() OVER (
    PARTITION BY run_id ORDER BY acceptance_length IS NULL, coalesce(drafted, 0) = 0, source, definition
) = 1;

-- The preempted requests of each run, null where an interval hides some. A sum over all rows is that over the sums of the
-- scrapes, and grouping by scrape would take a tenth of a whole run's time.
-- intervals: the name of the relation with the rows of `counter_intervals` for all of these runs.
CREATE OR REPLACE MACRO preemptions_in(intervals) AS TABLE
SELECT run_id, definition, sum_of_all(CASE WHEN is_counted THEN preemptions END) AS preemptions
FROM query_table(intervals) WHERE dt_s > 0 GROUP BY run_id, definition;

-- Each run's totals from its counters. `unseen_s` are seconds between two scrapes that were too far apart or
-- contradicted each other: their tokens are in the sums, because counters continue, but in no rate of a window.
CREATE OR REPLACE MACRO run_totals_of(run_ids) AS TABLE
WITH intervals AS (
    FROM counter_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids)
), scrapes AS (
    SELECT
        run_id, definition, mono_s,
        sum_of_all(CASE WHEN is_counted THEN decode_tokens END) AS decode_tokens,
        max(CASE WHEN is_counted THEN decode_s END) AS decode_s,
        bool_or(broken IS NOT NULL) AS is_unseen, NOT bool_and(is_counted) AS is_lost
    FROM intervals WHERE dt_s > 0
    GROUP BY run_id, definition, mono_s
), totals AS (
    SELECT
        run_id, definition,
        sum_of_all(decode_tokens) AS decode_tokens, sum(decode_s) AS decode_s,
        ratio(sum_of_all(decode_tokens), sum(decode_s)) AS mean_decode_tps,
        sum(decode_tokens) FILTER (is_unseen) AS unseen_tokens, sum(decode_s) FILTER (is_unseen) AS unseen_s,
        count(*) FILTER (is_lost) AS lost_intervals
    FROM scrapes GROUP BY run_id, definition
)
FROM totals JOIN preemptions_in('intervals') USING (run_id, definition);

CREATE OR REPLACE VIEW run_totals AS FROM run_totals_of(NULL::VARCHAR[]);
