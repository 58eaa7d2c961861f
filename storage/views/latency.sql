-- Latencies from each server's own histograms since Pitwall first scraped it: of all its requests, whoever sent them.
-- Counts grow until the server process ends; when they fall, the process has restarted and its new counts are added.

CREATE OR REPLACE MACRO has_decreased(counts, before) AS
list_bool_or(list_transform(list_zip(counts, before), lambda pair: pair[1] < pair[2]));

CREATE OR REPLACE MACRO latency_buckets_of(run_ids) AS TABLE
WITH samples AS (
    SELECT
        *,
        coalesce(has_decreased(counts, lag(counts) OVER samples) OR upper_ms <> lag(upper_ms) OVER samples, false) AS is_new
    FROM latency_samples_of(run_ids)
    WINDOW samples AS (PARTITION BY run_id, definition, metric, engine_index ORDER BY ts)
), processes AS (
    SELECT *, sum(is_new::INT) OVER (PARTITION BY run_id, definition, metric, engine_index ORDER BY ts) AS process_number
    FROM samples
), first_and_last AS (
    SELECT
        run_id, definition, metric, process_number, upper_ms,
        last(counts ORDER BY ts) AS last, last(sum_ms ORDER BY ts) AS last_sum_ms,
        CASE WHEN process_number = 0 THEN first(counts ORDER BY ts) END AS first,
        CASE WHEN process_number = 0 THEN first(sum_ms ORDER BY ts) ELSE 0 END AS first_sum_ms
    FROM processes GROUP BY run_id, definition, metric, engine_index, process_number, upper_ms
), bucket_increases AS (
    SELECT
        run_id, definition, metric, upper_ms AS bounds_ms, last_sum_ms - first_sum_ms AS sum_ms,
        unnest(range(1, len(last) + 1)) AS bucket,
        unnest(last) - coalesce(unnest(first), 0) AS up_to
    FROM first_and_last
)
SELECT
    run_id, definition, metric, bounds_ms, bucket,
    CASE WHEN bucket = 1 THEN 0 ELSE bounds_ms[bucket - 1] END AS lower_ms, bounds_ms[bucket] AS upper_ms,
    sum(up_to) AS up_to, CASE WHEN count(*) = count(sum_ms) THEN sum(sum_ms) END AS sum_ms -- null unless all ranks have it
FROM bucket_increases GROUP BY ALL;

-- The bucket that contains a quantile of the observations. The position within it is unknown: vLLM has a bucket from 0
-- to 10 ms.
CREATE OR REPLACE MACRO bucket_of(share, counts) AS
list_position(list_transform(counts, lambda n: n >= share * counts[-1]), true);

CREATE OR REPLACE MACRO server_latency_of(run_ids) AS TABLE
WITH histograms AS (
    SELECT
        run_id, definition, metric, any_value(sum_ms) AS sum_ms,
        list(up_to ORDER BY bucket) AS counts, list(lower_ms ORDER BY bucket) AS lowers,
        list(upper_ms ORDER BY bucket) AS uppers
    FROM latency_buckets_of(run_ids) GROUP BY run_id, definition, metric, bounds_ms
), quantile_buckets AS (
    SELECT *, bucket_of(0.5, counts) AS p50, bucket_of(0.95, counts) AS p95, bucket_of(0.99, counts) AS p99
    FROM histograms WHERE counts[-1] > 0
    QUALIFY row_number() OVER (PARTITION BY run_id, definition, metric ORDER BY counts[-1] DESC) = 1
)
SELECT
    run_id, definition, metric, counts[-1]::BIGINT AS n, sum_ms / counts[-1] AS mean_ms,
    lowers[p50] AS p50_from_ms, uppers[p50] AS p50_to_ms,
    lowers[p95] AS p95_from_ms, uppers[p95] AS p95_to_ms,
    lowers[p99] AS p99_from_ms, uppers[p99] AS p99_to_ms
FROM quantile_buckets;

CREATE OR REPLACE VIEW server_latency AS FROM server_latency_of(NULL::VARCHAR[]);
