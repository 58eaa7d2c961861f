-- CPU and memory of the servers' process trees and of their host.
SELECT run_id, ts, epoch(ts) AS t, process_count, cpu_ratio, rss_bytes, host_cpu_ratio, host_cores,
    host_memory_used_bytes
FROM host_samples_of($run_ids)
WHERE clock_offset_s IS NULL AND is_within(ts, $since::TIMESTAMPTZ, $until::TIMESTAMPTZ) ORDER BY ts
