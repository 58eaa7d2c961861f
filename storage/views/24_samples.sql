-- What users read: engines, runs, and the log held against the counters.

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
        l.run_id, l.engine_index, l.ts, l.definition, l.decode_s AS window_s, l.decode_tps AS log_tps,
        p.printed_tokens, p.covered_s,
        greatest(0, epoch(least(p.ts, l.ts)) - greatest(epoch(p.ts) - p.dt_s, epoch(l.ts) - l.decode_s)) AS shared_s
    FROM log_lines(NULL::TIMESTAMPTZ) l
    LEFT JOIN progress p ON p.run_id = l.run_id AND p.engine_index = l.engine_index AND p.source = 'counter'
        AND p.ts > l.ts - to_seconds(l.decode_s) AND p.ts < l.ts + to_seconds(l.decode_s)
    WHERE l.decode_tps IS NOT NULL AND l.definition <> 'llamacpp.log'
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
