-- Every metric of an ended run, at each concurrency, for the view `metrics`.
ALTER TABLE raw.run_reports ADD COLUMN metrics JSON;
