-- Ended runs that pass the filters, in the requested order. When ordered by a number, runs without a cached line come
-- first so that the caller can compute it; unknown values come last.
SELECT r.* FROM raw.runs r
SEMI JOIN (SELECT r.run_id FROM {found}) f ON f.run_id = r.id
LEFT JOIN run_reports l ON l.run_id = r.id
ORDER BY {order}
LIMIT $most
