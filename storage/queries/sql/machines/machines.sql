-- The known machines, the one with the newest run first; imported files have none.
SELECT
    machine_id, label, host_name, gpus, gpus_reason, driver_version, cpu, cores, memory_bytes, addresses, runs, seen_at,
    url
FROM machines WHERE NOT starts_with(machine_id, 'unknown-') ORDER BY last_run_at DESC NULLS LAST, machine_id
