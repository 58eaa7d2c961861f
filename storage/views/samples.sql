-- The views for users: rates of engines and of runs, per interval or per window.

CREATE OR REPLACE MACRO engine_samples_since(since, run_ids := NULL, until := NULL::TIMESTAMPTZ) AS TABLE
FROM engine_rates(NULL::DOUBLE, true, since, until, run_ids)
UNION ALL BY NAME FROM log_rates(since, until, run_ids);

CREATE OR REPLACE MACRO run_samples_since(since, run_ids := NULL, until := NULL::TIMESTAMPTZ) AS TABLE
FROM engine_rates(NULL::DOUBLE, false, since, until, run_ids)
UNION ALL BY NAME FROM run_log_rates(since, until, run_ids);

CREATE OR REPLACE VIEW engine_samples AS FROM engine_samples_since(NULL::TIMESTAMPTZ);
CREATE OR REPLACE VIEW run_samples AS FROM run_samples_since(NULL::TIMESTAMPTZ);

CREATE OR REPLACE MACRO engine_windows(w, run_ids := NULL) AS TABLE
FROM engine_rates(w, true, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids);

CREATE OR REPLACE MACRO run_windows(w, run_ids := NULL) AS TABLE
FROM engine_rates(w, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, run_ids);

-- From the relation of windows with this name, one definition per run that separates decoding from other work, its log
-- last.
CREATE OR REPLACE MACRO classified_windows_in(cut_windows) AS TABLE
WITH covered_windows AS (
    SELECT *, coalesce(decode_s, covered_s) AS known_s FROM query_table(cut_windows) WHERE since_ready_s > 0
), best AS (
    SELECT run_id, arg_max(definition, (source <> 'log', classified)) AS definition
    FROM (SELECT run_id, source, definition, count(activity) AS classified FROM covered_windows GROUP BY ALL)
    WHERE classified > 0 GROUP BY run_id
)
SELECT run_id, since_ready_s, window_s, known_s AS dt_s, decode_tokens AS tokens, decode_steps AS steps,
    decode_tps, tokens_per_step, steps_per_s, acceptance_length, activity, definition, requests_running,
    streams, drafts, accepted, bridged,
    source = 'log' OR known_s >= 0.9 * window_s AS is_whole
FROM covered_windows SEMI JOIN best USING (run_id, definition)
WHERE known_s IS NOT NULL;

-- The chart points from the relation of samples with this name; t in epoch seconds.
CREATE OR REPLACE MACRO points_in(samples_shown) AS TABLE
SELECT run_id, ts, epoch(ts) AS t, source, definition, decode_tps, tokens_per_step, steps_per_s,
    acceptance_length, per_position, requests_running, requests_waiting, kv_usage_ratio, activity, reason
FROM query_table(samples_shown);
