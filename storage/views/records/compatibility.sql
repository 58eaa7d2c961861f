-- What runs where: configurations x GPUs, by the servers that came up or did not. A run that was cancelled before its
-- server was ready tells nothing, and neither does one that was only watched or imported.
-- Names of the GPUs that a run was frozen with; empty: the machine has none; null: nobody looked.
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
WHERE kind = 'launched' AND (ready_at IS NOT NULL OR state = 'failed') AND is_asked(run_ids, run_id)
GROUP BY ALL;

CREATE OR REPLACE VIEW compatibility AS FROM compatibility_of(NULL::VARCHAR[]);

COMMENT ON MACRO TABLE compatibility_of IS 'compatibility_of(run_ids): what runs where, by these runs alone.';
COMMENT ON VIEW compatibility IS 'What runs where: a row a configuration and its GPUs, by the servers that Pitwall launched and that came up or failed.';
COMMENT ON COLUMN compatibility.model IS 'as the command names it';
COMMENT ON COLUMN compatibility.engine IS 'of the configuration';
COMMENT ON COLUMN compatibility.engine_version IS 'as the server reports it, else as configured or installed; null: not known';
COMMENT ON COLUMN compatibility.quantization IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.kv_cache_dtype IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.max_model_len IS 'tokens, as configured; null: not stated';
COMMENT ON COLUMN compatibility.tensor_parallel IS 'as configured; null: not stated';
COMMENT ON COLUMN compatibility.speculates IS 'whether it decodes speculatively; null: not known';
COMMENT ON COLUMN compatibility.speculative_method IS 'as in runs; null without speculation, or where it is not stated';
COMMENT ON COLUMN compatibility.speculative_num_tokens IS 'draft tokens a step; null without speculation, or where it is not stated';
COMMENT ON COLUMN compatibility.gpus IS 'names of the GPUs, one each, as frozen when the server started; empty: none in the machine';
COMMENT ON COLUMN compatibility.gpus_reason IS 'why gpus is null (docs/reasons.md)';
COMMENT ON COLUMN compatibility.outcome IS 'works: every server came up; fails: none did; mixed: some did';
COMMENT ON COLUMN compatibility.starts IS 'server starts';
COMMENT ON COLUMN compatibility.came_up IS 'of these, how many became ready; one that failed later did come up';
COMMENT ON COLUMN compatibility.cause IS 'why the last one failed that gave a cause, before it was ready or later; null: none gave one';
COMMENT ON COLUMN compatibility.cause_at IS 'when that one started; null without a cause';
COMMENT ON COLUMN compatibility.first_started_at IS 'of the first start';
COMMENT ON COLUMN compatibility.last_started_at IS 'of the last start';
COMMENT ON COLUMN compatibility.evidence_run_ids IS 'the runs, the oldest first';
