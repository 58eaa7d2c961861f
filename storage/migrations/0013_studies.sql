-- Studies, and the arm of a study that a run repeats.
ALTER TABLE raw.runs ADD COLUMN arm VARCHAR;

CREATE TABLE raw.studies (
    id VARCHAR NOT NULL,
    title VARCHAR,
    question VARCHAR,
    state VARCHAR,
    created_at TIMESTAMPTZ,
    updated_at TIMESTAMPTZ,
    plan JSON,
    answer JSON
);
