-- The latencies of each run from its server's own histograms.
FROM server_latency_of($run_ids) ORDER BY run_id, definition, metric
