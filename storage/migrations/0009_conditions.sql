-- What a run's machine did to it: time its threads waited for a CPU, CPU limits, stolen time, other processes on its GPUs.
ALTER TABLE raw.host_samples ADD COLUMN scheduled_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN runnable_wait_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN throttled_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN throttled_periods_total BIGINT;
ALTER TABLE raw.host_samples ADD COLUMN host_cpu_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN host_busy_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN host_steal_seconds_total DOUBLE;
ALTER TABLE raw.host_samples ADD COLUMN unknown JSON;
ALTER TABLE raw.gpu_samples ADD COLUMN other_memory_bytes BIGINT;
ALTER TABLE raw.gpu_samples ADD COLUMN other_utilization_ratio DOUBLE;
-- Which of its batch's repeats a run is, and what the order of the rounds was drawn from.
ALTER TABLE raw.runs ADD COLUMN round INTEGER;
ALTER TABLE raw.runs ADD COLUMN round_seed BIGINT;
