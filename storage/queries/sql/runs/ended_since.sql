-- The runs that ended after a time, newest end first.
SELECT * FROM raw.runs WHERE ended_at > $since ORDER BY ended_at DESC LIMIT $most
