-- Time series of the engines after $since up to $until, oldest first, ranks summed; t in epoch seconds.
WITH samples AS (
    FROM run_samples_since($since::TIMESTAMPTZ, run_ids := $run_ids, until := $until::TIMESTAMPTZ)
)
FROM points_in('samples') ORDER BY ts, source, definition
