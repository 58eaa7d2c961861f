-- Accepted draft tokens by position, as the load generator reads the counters between its stretches.
ALTER TABLE raw.load_counters ADD COLUMN accepted_per_pos_total DOUBLE[];
