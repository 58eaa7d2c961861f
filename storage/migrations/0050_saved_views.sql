-- What a page showed, kept under a name: each version a row, the newest in force.
CREATE TABLE raw.saved_views (
    page VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    query VARCHAR,
    is_removed BOOLEAN
);
