-- After how many days a run that has ended is deleted, as a person set it; the newest row holds, null: never.
CREATE TABLE raw.retention (
    set_at TIMESTAMPTZ,
    role VARCHAR,
    keep_days INTEGER
);
