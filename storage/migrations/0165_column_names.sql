-- Columns get the names that these values have everywhere else.
ALTER TABLE raw.runs RENAME COLUMN told TO logged_facts;
ALTER TABLE raw.machines RENAME COLUMN told_by TO reported_by;
