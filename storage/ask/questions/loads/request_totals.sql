-- Our own load on each run, warm-up left out.
SELECT run_id, count(*) AS sent, count(error_kind) AS failed, median(ttft_ms) AS ttft_ms
FROM requests_of($run_ids) WHERE phase = 'measure' GROUP BY run_id
