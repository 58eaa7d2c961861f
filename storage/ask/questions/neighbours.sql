-- How many other runs had a server up on the machine of each run while its own was. A server that is watched only was up
-- when it was first met. What has no end yet is up, whatever the clock says.
WITH up AS (
    SELECT run_id, machine_id, coalesce(ended_at, 'infinity') AS ended_at,
        coalesce(started_at, CASE WHEN kind = 'attached' THEN created_at END) AS started_at
    FROM runs
)
SELECT mine.run_id, count(*) AS others FROM up mine JOIN up other
    ON other.machine_id = mine.machine_id AND other.run_id <> mine.run_id
    AND other.started_at < mine.ended_at AND mine.started_at < other.ended_at
WHERE list_contains($run_ids, mine.run_id) GROUP BY mine.run_id
