-- What people say: notes on runs and gotchas, each version a row and the newest in force; and the runs they deleted.
CREATE TABLE raw.run_notes (
    run_id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    name VARCHAR,
    text VARCHAR,
    tags VARCHAR[],
    is_starred BOOLEAN,
    is_archived BOOLEAN,
    agentic_feel INTEGER,
    coding INTEGER,
    language INTEGER,
    impression VARCHAR
);

CREATE TABLE raw.gotchas (
    id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    engine VARCHAR,
    cause VARCHAR,
    flag VARCHAR,
    failure VARCHAR,
    workaround VARCHAR,
    link VARCHAR,
    run_id VARCHAR,
    is_withdrawn BOOLEAN
);

-- A deleted run as it was, until its files are gone; purged_at: since when its rows are.
CREATE TABLE raw.deleted_runs (
    run_id VARCHAR NOT NULL,
    deleted_at TIMESTAMPTZ,
    role VARCHAR,
    record JSON,
    purged_at TIMESTAMPTZ
);
