-- Ended runs without a cached line under these formulas, or whose line could not be computed; newest first.
SELECT r.* FROM raw.runs r
ANTI JOIN (
    FROM raw.run_reports WHERE formulas = $formulas AND (reason ->> '$.code') IS DISTINCT FROM 'not_computed'
) l
    ON r.id = l.run_id AND r.started_at IS NOT DISTINCT FROM l.started_at AND r.ended_at IS NOT DISTINCT FROM l.ended_at
WHERE r.ended_at < $settled
ORDER BY r.ended_at DESC
LIMIT $most
