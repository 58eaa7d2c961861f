-- What was given out and what was done: a link's token is never stored, only what it opens.
CREATE TABLE raw.shares (
    id VARCHAR NOT NULL,
    run_ids VARCHAR[],
    page VARCHAR,
    created_at TIMESTAMPTZ,
    created_by VARCHAR,
    expires_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    note VARCHAR
);

CREATE TABLE raw.audit (
    ts TIMESTAMPTZ,
    role VARCHAR,
    action VARCHAR,
    run_id VARCHAR,
    detail VARCHAR
);
