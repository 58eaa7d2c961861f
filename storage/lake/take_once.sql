-- A second check of every commit, by PostgreSQL itself in DuckLake's transaction: no part is committed twice, and no
-- run by two data folders, even if a killed writer left a commit pending.
CREATE TABLE IF NOT EXISTS pitwall_parts (
    run_id text, table_name text, part text, owner text NOT NULL, PRIMARY KEY (run_id, table_name, part)
);
CREATE TABLE IF NOT EXISTS pitwall_owners (run_id text PRIMARY KEY, owner text NOT NULL);
CREATE OR REPLACE FUNCTION pitwall_take_once() RETURNS trigger LANGUAGE plpgsql AS $take$
BEGIN
    INSERT INTO pitwall_parts
    SELECT one->>0, one->>1, one->>2, NEW.commit_message FROM json_array_elements(NEW.commit_extra_info::json) AS one;
    INSERT INTO pitwall_owners
    SELECT DISTINCT one->>0, NEW.commit_message FROM json_array_elements(NEW.commit_extra_info::json) AS one
    WHERE one->>1 NOT IN ('machines', 'machine_labels')
    ON CONFLICT (run_id) DO NOTHING;
    IF EXISTS (
        SELECT 1 FROM json_array_elements(NEW.commit_extra_info::json) AS one
        JOIN pitwall_owners ON run_id = one->>0 WHERE owner <> NEW.commit_message
    ) THEN RAISE EXCEPTION 'another data folder ships a run of this commit'; END IF;
    RETURN NEW;
END $take$;
CREATE OR REPLACE TRIGGER pitwall_take_once AFTER INSERT ON ducklake_snapshot_changes
FOR EACH ROW WHEN (NEW.author = 'pitwall' AND NEW.commit_extra_info IS NOT NULL) EXECUTE FUNCTION pitwall_take_once()
