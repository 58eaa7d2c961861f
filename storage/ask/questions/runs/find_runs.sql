-- Runs that have ended, as far as the filters let them through, in the order asked for. Of an order by a number, those of
-- which nothing is kept yet come first, for whoever asks to compute and put in their place; what is not known comes last.
SELECT r.* FROM raw.runs r
SEMI JOIN (SELECT r.run_id FROM {found}) f ON f.run_id = r.id
LEFT JOIN run_reports l ON l.run_id = r.id
ORDER BY {order}
LIMIT $most
