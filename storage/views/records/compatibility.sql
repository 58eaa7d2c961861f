-- Which configuration runs on which GPUs, by the servers that became ready or failed to. Runs cancelled before their
-- server was ready, and attached or imported ones, are not evidence.

-- The GPU names recorded at a run's start; empty: the machine has none; null: not recorded.
CREATE OR REPLACE MACRO gpu_names(provenance) AS
    CASE WHEN json_exists(provenance, '$.gpus') THEN list_sort(provenance->>'$.gpus[*].name') END;

CREATE OR REPLACE MACRO compatibility_of(run_ids) AS TABLE
SELECT
    model, engine, engine_version, quantization, kv_cache_dtype, max_model_len, tensor_parallel,
    speculates, speculative_method, speculative_num_tokens,
    gpu_names(provenance) AS gpus,
    CASE WHEN gpu_names(provenance) IS NULL THEN 'gpus_not_looked_at' END AS gpus_reason,
    CASE
        WHEN count(ready_at) = count(*) THEN 'works'
        WHEN count(ready_at) > 0 THEN 'mixed'
        ELSE 'fails'
    END AS outcome,
    count(*) AS starts,
    count(ready_at) AS came_up,
    max_by(cause, begun_at) FILTER (cause IS NOT NULL) AS cause,
    max(begun_at) FILTER (cause IS NOT NULL) AS cause_at,
    min(begun_at) AS first_started_at,
    max(begun_at) AS last_started_at,
    list(run_id ORDER BY begun_at, run_id) AS evidence_run_ids
FROM (SELECT *, coalesce(started_at, created_at) AS begun_at FROM runs)
WHERE kind = 'launched' AND (ready_at IS NOT NULL OR state = 'failed') AND is_requested(run_ids, run_id)
GROUP BY ALL;

CREATE OR REPLACE VIEW compatibility AS FROM compatibility_of(NULL::VARCHAR[]);

COMMENT ON MACRO TABLE compatibility_of IS 'compatibility_of(run_ids): compatibility by these runs only.';
COMMENT ON VIEW compatibility IS 'Which configuration runs on which GPUs: one row for each pair, from servers launched by Pitwall that became ready or failed.';
COMMENT ON COLUMN compatibility.model IS 'as in the command';
COMMENT ON COLUMN compatibility.engine IS 'of the configuration';
COMMENT ON COLUMN compatibility.engine_version IS 'as reported by the server, else as configured or installed; null: unknown';
COMMENT ON COLUMN compatibility.quantization IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.kv_cache_dtype IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.max_model_len IS 'tokens, as configured; null: not stated';
COMMENT ON COLUMN compatibility.tensor_parallel IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.speculates IS 'whether it uses speculative decoding; null: unknown';
COMMENT ON COLUMN compatibility.speculative_method IS 'as in runs; null without speculation or if not stated';
COMMENT ON COLUMN compatibility.speculative_num_tokens IS 'draft tokens per step; null without speculation or if not stated';
COMMENT ON COLUMN compatibility.gpus IS 'names of the GPUs, one per GPU, recorded at the server''s start; empty: none in the machine';
COMMENT ON COLUMN compatibility.gpus_reason IS 'why gpus is null (docs/reasons.md)';
COMMENT ON COLUMN compatibility.outcome IS 'works: every server became ready; fails: none did; mixed: some did';
COMMENT ON COLUMN compatibility.starts IS 'server starts';
COMMENT ON COLUMN compatibility.came_up IS 'starts that became ready, including those that failed later';
COMMENT ON COLUMN compatibility.cause IS 'cause of the last failure with a known cause, before or after it was ready; null: none';
COMMENT ON COLUMN compatibility.cause_at IS 'start time of that server; null without a cause';
COMMENT ON COLUMN compatibility.first_started_at IS 'time of the first start';
COMMENT ON COLUMN compatibility.last_started_at IS 'time of the last start';
COMMENT ON COLUMN compatibility.evidence_run_ids IS 'ids of the runs, oldest first';
