-- When shared links were first opened after a time, with what they are, oldest first.
SELECT s.id AS share_id, min(a.ts) AS ts, any_value(s.note) AS note, any_value(s.page) AS page,
    any_value(s.created_by) AS created_by
FROM raw.audit a JOIN raw.shares s ON a.detail = concat('link ', s.id)
WHERE a.action = $action AND a.ts > $since
GROUP BY s.id ORDER BY ts
