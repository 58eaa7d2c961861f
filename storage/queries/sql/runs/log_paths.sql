-- The log path of each run, newest run first.
SELECT id, log_path FROM raw.runs WHERE log_path IS NOT NULL ORDER BY id DESC
