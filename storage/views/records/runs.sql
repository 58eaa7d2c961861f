-- Runs with the fields of their config as columns; a field absent from the config is null.

-- The version in a package name such as 'vllm 0.21.0' from a run's provenance.
CREATE OR REPLACE MACRO package_version(provenance) AS
    nullif(split_part(provenance->>'$.package', ' ', 2), '');

-- The state that people see: a run that was cancelled before its start is stored as 'finished'.
CREATE OR REPLACE MACRO shown_state_of(state, kind, started_at, ended_at) AS CASE
    WHEN state = 'finished' AND kind = 'launched' AND started_at IS NULL AND ended_at IS NOT NULL THEN 'cancelled'
    ELSE state
END;

CREATE OR REPLACE VIEW runs AS
SELECT
    id AS run_id, name, kind, state, shown_state_of(state, kind, started_at, ended_at) AS shown_state, phase,
    CASE WHEN kind <> 'imported' OR c.engine <> 'other' THEN c.engine END AS engine,
    coalesce(logged_facts->>'$.engine_version', c.engine_version, package_version(provenance)) AS engine_version,
    c.launcher AS launcher,
    c.image AS image,
    c.model AS model,
    c.quantization AS quantization,
    c.dtype AS dtype,
    c.kv_cache_dtype AS kv_cache_dtype,
    c.max_model_len AS max_model_len,
    c.tensor_parallel AS tensor_parallel,
    c.pipeline_parallel AS pipeline_parallel,
    c.data_parallel AS data_parallel,
    c.gpus AS gpus,
    c.gpu_memory_fraction AS gpu_memory_fraction,
    c.max_num_seqs AS max_num_seqs,
    c.max_num_batched_tokens AS max_num_batched_tokens,
    c.prefix_caching AS prefix_caching,
    c.chunked_prefill AS chunked_prefill,
    c.enforce_eager AS enforce_eager,
    c.tool_call_parser AS tool_call_parser,
    c.reasoning_parser AS reasoning_parser,
    list_sort(list_transform(map_entries(c.env), lambda one: concat(one.key, '=', one.value))) AS environment,
    c.unknown_flags AS other_flags,
    speculation_of(c, (logged_facts->>'$.speculative_method') IS NOT NULL) AS speculates,
    coalesce(
        logged_facts->>'$.speculative_method', c.speculative.method,
        engine_speculative_method(c.engine, c.speculative.model)
    ) AS speculative_method,
    CASE
        WHEN speculative_method IS NOT NULL THEN NULL
        WHEN speculates THEN 'method_not_stated'
        WHEN speculates IS NULL THEN 'start_not_known'
        ELSE 'no_speculation_configured'
    END AS speculative_method_reason,
    c.speculative.model AS speculative_model,
    coalesce(c.speculative.num_tokens, (logged_facts->>'$.speculative_num_tokens')::BIGINT) AS speculative_num_tokens,
    fingerprint,
    workload->>'$.name' AS workload,
    coalesce(later_workloads->>'$[*].name', []) AS later_workloads,
    workload->>'$.prompt_set_hash' AS prompt_set_hash,
    batch_id, arm, round, round_seed, machine_id,
    created_at, started_at, ready_at, ended_at,
    epoch(ready_at) - epoch(started_at) AS time_to_ready_s,
    CASE WHEN kind = 'launched' THEN time_to_ready_s END AS startup_s,
    pid, exit_code, exit_signal, cause, cause_line, note, base_url, log_path, config, provenance, logged_facts
FROM (SELECT *, config_fields(config) AS c FROM raw.runs);

CREATE OR REPLACE VIEW metric_definitions AS FROM raw.metric_definitions;

CREATE OR REPLACE VIEW studies AS
SELECT
    id AS study_id, title, question, state, created_at, updated_at,
    answer->>'$.answer' AS answer,
    answer->>'$.winner' AS winner,
    (answer->>'$.runs')::BIGINT AS runs,
    plan, answer AS full_answer
FROM raw.studies;

CREATE OR REPLACE VIEW run_reports AS FROM raw.run_reports WHERE formulas <> '';
