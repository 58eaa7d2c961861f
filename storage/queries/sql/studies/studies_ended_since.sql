-- The studies that ended after a time, oldest end first.
SELECT * FROM raw.studies WHERE state = 'ended' AND updated_at > $since ORDER BY updated_at
