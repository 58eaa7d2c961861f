-- Other runs with a server up on the same machine during a window of a run. An attached server counts as up from the
-- moment it was attached; a run without an end counts as up, whatever the clock says. Two runs may watch one server: at
-- any time an address belongs to one server.
WITH stretch AS (
    SELECT unnest($runs::VARCHAR[]) AS run_id, unnest($began::TIMESTAMPTZ[]) AS began_at,
        unnest($ended::TIMESTAMPTZ[]) AS ended_at
), servers AS (
    SELECT id AS run_id, machine_id, pid, pid_birth_s, base_url, coalesce(ended_at, 'infinity') AS ended_at,
        coalesce(started_at, CASE WHEN kind = 'attached' THEN created_at END) AS started_at
    FROM raw.runs WHERE kind <> 'imported'
)
SELECT s.run_id, s.began_at, s.ended_at, other.run_id AS other,
    coalesce(other.pid = mine.pid AND other.pid_birth_s = mine.pid_birth_s, false)
        OR coalesce(other.base_url = mine.base_url, false) AS is_same_server
FROM stretch s JOIN servers mine USING (run_id) JOIN servers other
    ON other.machine_id = mine.machine_id AND other.run_id <> s.run_id
    AND other.started_at < s.ended_at AND s.began_at < other.ended_at
ORDER BY s.run_id, s.began_at, other
