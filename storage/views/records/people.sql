-- People's notes on runs, in the newest version.
CREATE OR REPLACE MACRO run_notes_of(run_ids) AS TABLE
FROM raw.run_notes WHERE is_requested(run_ids, run_id)
QUALIFY version = max(version) OVER (PARTITION BY run_id);

CREATE OR REPLACE VIEW run_notes AS FROM run_notes_of(NULL::VARCHAR[]);
CREATE OR REPLACE VIEW run_note_versions AS FROM raw.run_notes;

CREATE OR REPLACE VIEW gotchas AS
SELECT id AS gotcha_id, * EXCLUDE (id, is_withdrawn) FROM (
    FROM raw.gotchas QUALIFY version = max(version) OVER (PARTITION BY id)
) WHERE NOT is_withdrawn;

CREATE OR REPLACE VIEW saved_view_versions AS FROM raw.saved_views;
CREATE OR REPLACE VIEW saved_views AS
SELECT * EXCLUDE (is_removed) FROM (
    FROM raw.saved_views QUALIFY version = max(version) OVER (PARTITION BY page, name)
) WHERE NOT is_removed;

-- References to runs, which prevent their deletion: a study, an adopted point, or a link that is valid at a given time.
CREATE OR REPLACE MACRO run_references(moment) AS TABLE
SELECT r.id AS run_id, 'the study ' || s.title AS what FROM raw.runs r JOIN raw.studies s ON s.id = r.batch_id
UNION ALL
SELECT unnest(run_ids), 'the adopted point ' || name FROM raw.adopted
UNION ALL
SELECT unnest(run_ids), 'a link that is open' FROM raw.shares WHERE revoked_at IS NULL AND expires_at > moment;
