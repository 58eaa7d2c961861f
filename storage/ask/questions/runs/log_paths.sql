-- Where the logs of runs are, the newest run first.
SELECT id, log_path FROM raw.runs WHERE log_path IS NOT NULL ORDER BY id DESC
