-- Runs with what their config says in columns of its own; absent from the config is null.
CREATE OR REPLACE VIEW runs AS
SELECT
    id AS run_id, name, kind, state, phase,
    config->>'$.engine' AS engine,
    config->>'$.engine_version' AS engine_version,
    config->>'$.launcher' AS launcher,
    config->>'$.model' AS model,
    config->>'$.quantization' AS quantization,
    config->>'$.dtype' AS dtype,
    config->>'$.kv_cache_dtype' AS kv_cache_dtype,
    (config->>'$.max_model_len')::BIGINT AS max_model_len,
    (config->>'$.tensor_parallel')::BIGINT AS tensor_parallel,
    (config->>'$.data_parallel')::BIGINT AS data_parallel,
    (config->>'$.max_num_seqs')::BIGINT AS max_num_seqs,
    config->>'$.speculative.method' AS speculative_method,
    (config->>'$.speculative.num_tokens')::BIGINT AS speculative_num_tokens,
    fingerprint,
    workload->>'$.name' AS workload,
    workload->>'$.prompt_set_hash' AS prompt_set_hash,
    batch_id, machine_id,
    created_at, started_at, ready_at, ended_at,
    epoch(ready_at) - epoch(started_at) AS time_to_ready_s,
    pid, exit_code, exit_signal, cause, cause_line, note, base_url, log_path, config, provenance
FROM raw.runs;

CREATE OR REPLACE VIEW metric_definitions AS FROM raw.metric_definitions;
