-- Power and clock of the runs' GPUs on their servers' machines: watts summed, the slowest clock.
SELECT run_id, ts, epoch(ts) AS t, CASE WHEN count(power_w) = count(*) THEN sum(power_w) END AS power_w,
    min(sm_clock_mhz) AS sm_clock_mhz
FROM gpu_samples_of($run_ids)
WHERE clock_offset_s IS NULL AND is_within(ts, $since::TIMESTAMPTZ, $until::TIMESTAMPTZ)
GROUP BY run_id, ts ORDER BY ts
