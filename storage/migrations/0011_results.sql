-- What other tools measured: where a load comes from, its results, checks and accuracy.
ALTER TABLE raw.loads ADD COLUMN source_name VARCHAR;
ALTER TABLE raw.loads ADD COLUMN source_sha256 VARCHAR;
ALTER TABLE raw.loads ADD COLUMN command JSON;

CREATE TABLE raw.results (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    point VARCHAR,
    metric VARCHAR,
    statistic VARCHAR,
    unit VARCHAR,
    definition VARCHAR,
    value DOUBLE,
    n BIGINT,
    sd DOUBLE,
    concurrency BIGINT,
    prompt_tokens BIGINT,
    output_tokens BIGINT,
    depth_tokens BIGINT,
    reason VARCHAR
);

CREATE TABLE raw.checks (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    suite VARCHAR,
    case_name VARCHAR,
    mode VARCHAR,
    is_pass BOOLEAN,
    why VARCHAR,
    exchange JSON
);

CREATE TABLE raw.accuracy (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    task VARCHAR,
    filter VARCHAR,
    metric VARCHAR,
    correct BIGINT,
    n BIGINT,
    value DOUBLE,
    low DOUBLE,
    high DOUBLE,
    stderr DOUBLE,
    protocol_hash VARCHAR,
    protocol JSON,
    version VARCHAR,
    reason VARCHAR
);

CREATE TABLE raw.accuracy_items (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    task VARCHAR,
    filter VARCHAR,
    item_hash VARCHAR,
    item_id VARCHAR,
    score DOUBLE,
    is_error BOOLEAN,
    why VARCHAR,
    target VARCHAR,
    answer VARCHAR
);
