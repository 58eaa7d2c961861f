-- What other machines of a run send. How far an agent there was taken in, written with its samples, so that none counts
-- twice; and beside each sample of a machine how its clock was related to Pitwall's. Null: Pitwall's own clock.
CREATE TABLE raw.agents (
    run_id VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    machine_id VARCHAR,
    host_name VARCHAR,
    number BIGINT, -- of the last batch that was taken in
    thinned BIGINT, -- batches that it left out, for its buffer was full
    seen_at TIMESTAMPTZ
);

ALTER TABLE raw.gpu_samples ADD COLUMN clock_offset_s DOUBLE;
ALTER TABLE raw.gpu_samples ADD COLUMN clock_uncertainty_s DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN clock_offset_s DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN clock_uncertainty_s DOUBLE;
