-- What Explore draws of a run beside its speed: under load, and at its most.
ALTER TABLE raw.run_reports ADD COLUMN acceptance_rate DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN tokens_per_j DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN gpu_power_w DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN server_cores DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN host_busy_ratio DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN kv_usage_peak_ratio DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN preemptions DOUBLE;
ALTER TABLE raw.run_reports ADD COLUMN gpu_memory_peak_gib DOUBLE;
