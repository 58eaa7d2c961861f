-- The speed that a tool or a document states of a run, beside the numbers of its line.
ALTER TABLE raw.run_reports ADD COLUMN stated JSON;
