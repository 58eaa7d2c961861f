-- What a server itself counts of its latencies, of all its requests.
CREATE TABLE raw.latency_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    definition VARCHAR,
    metric VARCHAR,
    engine_index BIGINT,
    upper_ms DOUBLE[],
    counts DOUBLE[],
    sum_ms DOUBLE
);
