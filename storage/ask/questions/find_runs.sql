-- Runs that have ended, as far as the filters let them through. The newest first, or those with the highest number of one
-- kind: before them come runs of which nothing is kept yet, for whoever asks to compute and put in their place, and behind
-- them those of which it is not known.
SELECT r.* FROM raw.runs r
SEMI JOIN runs_found(
    words := $words, engines := $engines, workloads := $workloads, kinds := $kinds, states := $states, tags := $tags,
    marks := $marks, machines := $machines, since := $since
) f ON f.run_id = r.id
LEFT JOIN run_reports l ON l.run_id = r.id
ORDER BY
    $order_by <> 'newest' AND l.run_id IS NULL DESC,
    CASE $order_by
        WHEN 'stream' THEN l.stream_tps
        WHEN 'output' THEN l.output_tps
        WHEN 'typical' THEN l.typical_tps
        WHEN 'peak' THEN l.peak_tps
        WHEN 'acceptance' THEN l.acceptance_length
    END DESC NULLS LAST,
    coalesce(r.started_at, r.created_at) DESC, r.id DESC
LIMIT $most
