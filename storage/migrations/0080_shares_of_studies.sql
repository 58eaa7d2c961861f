-- A link may be to a study, and open Compare or a report with what was asked of its runs.
ALTER TABLE raw.shares ADD COLUMN study_id VARCHAR;
ALTER TABLE raw.shares ADD COLUMN query VARCHAR;
