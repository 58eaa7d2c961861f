-- The startup facts from each run's log, one column per fact; the last statement of a fact counts.
CREATE OR REPLACE MACRO fact_text(key, value, name) AS any_value(value->>'$') FILTER (key = name);
CREATE OR REPLACE MACRO fact_number(key, value, name) AS
    any_value(finite(TRY_CAST(value->>'$' AS DOUBLE))) FILTER (key = name);

CREATE OR REPLACE MACRO startup_of(run_ids) AS TABLE
WITH facts AS (
    SELECT run_id, data->>'$.key' AS key, last(data->'$.value' ORDER BY ts, "offset") AS value
    FROM events_of(run_ids) WHERE kind = 'startup' GROUP BY ALL
), told AS (
    SELECT
        run_id,
        coalesce(fact_number(key, value, 'model_load_gib'), fact_number(key, value, 'model_load_gb')) AS model_load_gib,
        coalesce(fact_number(key, value, 'model_load_s'), fact_number(key, value, 'weights_load_s')) AS model_load_s,
        fact_number(key, value, 'draft_load_gib') AS draft_load_gib,
        fact_number(key, value, 'draft_load_s') AS draft_load_s,
        coalesce(
            fact_number(key, value, 'available_kv_gib'), fact_number(key, value, 'kv_cache_gib'),
            fact_number(key, value, 'kv_cache_bytes') / 1024 ** 3
        ) AS kv_cache_gib,
        fact_number(key, value, 'kv_cache_tokens')::BIGINT AS kv_cache_tokens,
        fact_number(key, value, 'swa_tokens')::BIGINT AS swa_tokens,
        coalesce(fact_number(key, value, 'num_gpu_blocks'), fact_number(key, value, 'kv_blocks'))::BIGINT AS kv_blocks,
        fact_number(key, value, 'max_concurrency') AS stated_concurrency,
        coalesce(
            fact_number(key, value, 'max_concurrency_context'), fact_number(key, value, 'context_len'),
            fact_number(key, value, 'max_model_len')
        )::BIGINT AS full_context_tokens,
        fact_number(key, value, 'max_running_requests')::BIGINT AS max_running_requests,
        coalesce(fact_number(key, value, 'compile_s'), fact_number(key, value, 'compile_passes_s')) AS compile_s,
        fact_number(key, value, 'graph_capture_s') AS graph_capture_s,
        fact_number(key, value, 'graph_capture_gib') AS graph_capture_gib,
        fact_number(key, value, 'engine_init_s') AS engine_init_s,
        fact_text(key, value, 'kv_cache_dtype') AS kv_cache_dtype,
        fact_text(key, value, 'attention_backend') AS attention_backend
    FROM facts GROUP BY run_id
)
SELECT
    run_id, r.engine, r.engine_version, model_load_gib, model_load_s, draft_load_gib, draft_load_s,
    kv_cache_gib, kv_cache_tokens,
    CASE WHEN kv_cache_tokens IS NOT NULL THEN coalesce(
        engine_kv_tokens_definition(r.engine, r.engine_version),
        CASE WHEN swa_tokens IS NULL THEN 'tokens of the pool' ELSE 'tokens of the layers without a sliding window' END
    ) END AS kv_cache_tokens_definition,
    swa_tokens, kv_blocks, full_context_tokens,
    coalesce(stated_concurrency, CASE WHEN swa_tokens IS NULL THEN ratio(kv_cache_tokens, full_context_tokens) END)
        AS full_context_concurrency,
    CASE
        WHEN stated_concurrency IS NOT NULL THEN 'as the log states it'
        WHEN full_context_concurrency IS NOT NULL THEN 'KV tokens over the full context'
    END AS full_context_concurrency_definition,
    max_running_requests, compile_s, graph_capture_s, graph_capture_gib, engine_init_s,
    told.kv_cache_dtype, attention_backend,
    CASE
        WHEN full_context_concurrency IS NOT NULL THEN NULL
        WHEN swa_tokens IS NOT NULL THEN 'sliding_window'
        ELSE 'no_kv_tokens_logged'
    END AS reason
FROM told LEFT JOIN (
    SELECT
        id AS run_id, config->>'$.engine' AS engine,
        coalesce(logged_facts->>'$.engine_version', config->>'$.engine_version', package_version(provenance)) AS engine_version
    FROM stored_runs(run_ids)
) r USING (run_id);

CREATE OR REPLACE VIEW startup AS FROM startup_of(NULL::VARCHAR[]);
