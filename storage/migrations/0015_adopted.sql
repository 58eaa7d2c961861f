-- Operating points that were adopted: appended, never changed; a later one may supersede an earlier one.
CREATE TABLE raw.adopted (
    id VARCHAR NOT NULL,
    name VARCHAR,
    purpose VARCHAR,
    reason VARCHAR,
    config JSON,
    workload JSON,
    run_ids VARCHAR[],
    adopted_by VARCHAR,
    role VARCHAR,
    adopted_at TIMESTAMPTZ,
    supersedes VARCHAR
);
