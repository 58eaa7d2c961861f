-- Runs that another Pitwall measured and a bundle brought: their owner alone gives them to a lake.
CREATE TABLE raw.foreign_runs (run_id VARCHAR NOT NULL, taken_at TIMESTAMPTZ);
