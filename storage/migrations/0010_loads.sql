-- A load is a record of its own: what was asked, how its phases went, and the counters between its stretches.
CREATE TABLE raw.loads (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    tool VARCHAR,
    workload VARCHAR,
    tool_version VARCHAR,
    prompt_set_hash VARCHAR,
    params JSON,
    planned_requests BIGINT,
    planned_phases BIGINT
);

CREATE TABLE raw.load_phases (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    phase_index BIGINT,
    title VARCHAR,
    kind VARCHAR,
    concurrency BIGINT,
    began_at TIMESTAMPTZ,
    duration_s DOUBLE,
    paused_s DOUBLE,
    planned_requests BIGINT,
    is_complete BOOLEAN
);

CREATE TABLE raw.load_counters (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    segment BIGINT,
    definition VARCHAR,
    engine_index BIGINT,
    generation_tokens_total DOUBLE,
    first_tokens_total DOUBLE,
    inter_token_count_total DOUBLE,
    drafts_total DOUBLE,
    draft_tokens_total DOUBLE,
    accepted_tokens_total DOUBLE,
    requests_running DOUBLE
);

ALTER TABLE raw.requests ADD COLUMN load_id VARCHAR;
ALTER TABLE raw.requests ADD COLUMN phase_index BIGINT;
ALTER TABLE raw.requests ADD COLUMN sequence BIGINT;
ALTER TABLE raw.requests ADD COLUMN since_phase_s DOUBLE;
ALTER TABLE raw.requests ADD COLUMN segment BIGINT;
ALTER TABLE raw.requests ADD COLUMN chunk_us INTEGER[];
ALTER TABLE raw.requests ADD COLUMN chunk_tokens INTEGER[];
