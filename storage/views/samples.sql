-- What users read: rates of engines and of runs, as they were measured or in windows.

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
