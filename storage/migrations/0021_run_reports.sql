-- What the list of runs says of a run that has ended, computed once. It holds as long as the formulas and the run's
-- times are those that it was computed from.
CREATE TABLE raw.run_reports (
    run_id VARCHAR,
    formulas VARCHAR,
    started_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    stream_tps DOUBLE,
    output_tps DOUBLE,
    typical_tps DOUBLE,
    peak_tps DOUBLE,
    tokens_per_step DOUBLE,
    acceptance_length DOUBLE,
    reason JSON
);
