-- The speed that a log's own lines print, for runs whose speed is not known otherwise.
ALTER TABLE raw.run_reports ADD COLUMN printed_tps DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN printed_lines BIGINT;
ALTER TABLE raw.run_reports ADD COLUMN printed_definition VARCHAR;
