-- A server attached by URL from elsewhere belongs to the machine whose Pitwall reports that host name or, if only one
-- does, that address.
SELECT 'remote-' || lower(name) AS alias, min(id) AS machine_id
FROM (
    SELECT id, host_name AS name FROM raw.machines
    UNION SELECT id, unnest(addresses) AS name FROM raw.machines
) GROUP BY alias HAVING count(DISTINCT id) = 1
