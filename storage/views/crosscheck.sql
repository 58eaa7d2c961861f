-- The engine's own log line compared with its counters over the same seconds. A line about a finished request has no
-- such seconds: its engine's file defines the comparison.

CREATE OR REPLACE MACRO crosscheck_of(run_ids) AS TABLE
WITH pairs AS (
    SELECT
        l.run_id, l.engine_index, l.ts, l.definition, l.decode_s AS window_s, l.decode_tps AS log_tps,
        p.printed_tokens, p.covered_s,
        greatest(0, epoch(least(p.ts, l.ts)) - greatest(epoch(p.ts) - p.dt_s, epoch(l.ts) - l.decode_s)) AS shared_s
    FROM log_lines(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids) l
    LEFT JOIN counter_progress(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids) p ON p.run_id = l.run_id AND p.engine_index = l.engine_index
        AND p.ts > l.ts - to_seconds(l.decode_s) AND p.ts < l.ts + to_seconds(l.decode_s)
    WHERE l.decode_tps IS NOT NULL AND l.printed.kind IS DISTINCT FROM 'request'
), line_rates AS (
    SELECT
        run_id, engine_index, ts, definition, window_s, log_tps,
        sum(shared_s) FILTER (printed_tokens IS NOT NULL) AS shared_s,
        ratio(sum(printed_tokens * shared_s / covered_s), sum(shared_s) FILTER (printed_tokens IS NOT NULL)) AS tps
    FROM pairs GROUP BY ALL
), comparisons AS (
    SELECT
        run_id, ts, definition, engine_index, window_s, log_tps,
        CASE WHEN shared_s >= 0.9 * window_s THEN tps END AS counter_tps
    FROM line_rates
    UNION ALL BY NAME FROM engine_crosscheck(run_ids)
)
SELECT
    run_id, ts, definition, engine_index, window_s, log_tps, counter_tps,
    ratio(counter_tps - log_tps, log_tps) AS relative_difference
FROM comparisons;

CREATE OR REPLACE VIEW samples_crosscheck AS FROM crosscheck_of(NULL::VARCHAR[]);
