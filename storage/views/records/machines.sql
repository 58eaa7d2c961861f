-- The machines of runs, and the GPUs of each run on each machine.

-- A machine that runs Pitwall describes itself; other machines are described by the newest run launched there.
CREATE OR REPLACE VIEW machines AS
WITH run_machines AS (
    SELECT
        machine_id,
        count(*) AS runs,
        max(coalesce(started_at, created_at)) AS last_run_at,
        arg_max(provenance, coalesce(started_at, created_at)) FILTER (provenance IS NOT NULL) AS provenance_of_run
    FROM raw.runs GROUP BY machine_id
), agents AS (
    SELECT machine_id AS id, arg_max(host_name, seen_at) AS agents_name FROM raw.agents GROUP BY machine_id
)
SELECT
    coalesce(own.id, run_machines.machine_id, agents.id) AS machine_id,
    labels.label,
    coalesce(own.host_name, provenance_of_run->>'$.host.name', agents_name) AS host_name,
    from_json(
        coalesce(own.gpus, provenance_of_run->'$.gpus', '[]'),
        '[{"index": "BIGINT", "uuid": "VARCHAR", "name": "VARCHAR", "memory_total_bytes": "BIGINT", "memory_kind": "VARCHAR"}]'
    ) AS gpus,
    coalesce(own.gpus_reason, provenance_of_run->>'$.gpus_reason', CASE WHEN own.id IS NULL AND provenance_of_run IS NULL THEN
        'machine_not_told' END) AS gpus_reason,
    coalesce(own.driver_version, provenance_of_run->>'$.driver_version') AS driver_version,
    coalesce(own.cuda_version, provenance_of_run->>'$.cuda_version') AS cuda_version,
    coalesce(own.system, provenance_of_run->>'$.host.system') AS system,
    coalesce(own.cpu, provenance_of_run->>'$.host.cpu') AS cpu,
    coalesce(own.cores, (provenance_of_run->>'$.host.cores')::BIGINT) AS cores,
    coalesce(own.memory_bytes, (provenance_of_run->>'$.host.memory_bytes')::BIGINT) AS memory_bytes,
    own.addresses,
    own.seen_at,
    own.url,
    coalesce(run_machines.runs, 0) AS runs,
    run_machines.last_run_at
FROM raw.machines own
FULL JOIN run_machines ON run_machines.machine_id = own.id
FULL JOIN agents ON agents.id = coalesce(own.id, run_machines.machine_id)
LEFT JOIN raw.machine_labels labels ON labels.machine_id = coalesce(own.id, run_machines.machine_id, agents.id);

-- The server's machine first; the others sent samples of the run.
CREATE OR REPLACE MACRO run_nodes_of(run_ids) AS TABLE
WITH sampled_gpus AS (
    SELECT
        run_id, machine_id,
        list(DISTINCT {
            'index': gpu_index, 'uuid': gpu_uuid, 'name': gpu_name,
            'memory_total_bytes': memory_total_bytes, 'memory_kind': memory_kind
        }) AS gpus
    FROM gpu_samples_of(run_ids) WHERE run_id IS NOT NULL GROUP BY ALL
), hosts AS (
    SELECT DISTINCT run_id, machine_id FROM host_samples_of(run_ids)
), nodes AS (
    SELECT id AS run_id, machine_id FROM stored_runs(run_ids)
    UNION SELECT run_id, machine_id FROM sampled_gpus
    UNION SELECT run_id, machine_id FROM hosts
)
SELECT
    nodes.run_id,
    nodes.machine_id,
    CASE WHEN nodes.machine_id = runs.machine_id THEN 'server' ELSE 'worker' END AS role,
    list_sort(sampled_gpus.gpus) AS gpus,
    CASE WHEN sampled_gpus.gpus IS NULL THEN 'no_gpu_sampled' END AS gpus_reason
FROM nodes
JOIN stored_runs(run_ids) runs ON runs.id = nodes.run_id
LEFT JOIN sampled_gpus ON sampled_gpus.run_id = nodes.run_id AND sampled_gpus.machine_id = nodes.machine_id;

CREATE OR REPLACE VIEW run_nodes AS FROM run_nodes_of(NULL::VARCHAR[]);

COMMENT ON MACRO TABLE run_nodes_of IS 'run_nodes_of(run_ids): run_nodes of these runs.';
