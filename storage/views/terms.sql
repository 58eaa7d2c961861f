-- The basic terms of all formulas.

-- Whether a row belongs to the requested runs; null: to all runs. Placed directly over each table, below windows and
-- joins, it keeps the rows of other runs from being read.
CREATE OR REPLACE MACRO is_requested(run_ids, run_id) AS run_ids IS NULL OR list_contains(run_ids, run_id);

-- Whether a row lies in the requested interval; a null bound is unbounded. Like is_requested, it belongs directly over a
-- table. Values that depend on the previous row start a minute earlier, so that the first rates of an interval equal
-- those of the whole run.
CREATE OR REPLACE MACRO is_within(ts, since, until) AS (since IS NULL OR ts > since) AND (until IS NULL OR ts <= until);
CREATE OR REPLACE MACRO with_lead_in(since) AS since - INTERVAL 1 MINUTE;

CREATE OR REPLACE MACRO stored_runs(run_ids) AS TABLE FROM raw.runs WHERE is_requested(run_ids, id);

-- The sealed files of the requested runs, from one '<table>/run_id=<run>/<number>.parquet' per line. If they have none,
-- the first file: a scan needs a file for its columns, and reads no more of it. A text is planned faster than a list.
CREATE OR REPLACE MACRO files_of(run_ids, folder, files) AS list_transform(
    coalesce(
        nullif(list_filter(string_split(files, chr(10)), lambda f: is_requested(run_ids, split_part(f, '/', 2)[8:])), []),
        string_split(files, chr(10))[:1]
    ),
    lambda f: folder || '/' || f
);

-- The same for merged files, '<table>/merged/<first run>..<last run>..<checksum>.parquet', whose rows are in run order.
CREATE OR REPLACE MACRO may_have(run_ids, name) AS run_ids IS NULL OR len(list_filter(
    run_ids, lambda r: r >= split_part(name, '..', 1) AND r <= split_part(name, '..', 2)
)) > 0;
CREATE OR REPLACE MACRO merged_files_of(run_ids, folder, files) AS list_transform(
    coalesce(
        nullif(list_filter(string_split(files, chr(10)), lambda f: may_have(run_ids, split_part(f, '/', 3))), []),
        string_split(files, chr(10))[:1]
    ),
    lambda f: folder || '/' || f
);

-- DuckDB skips row groups by their runs for an IN of constants and for a range, but not for a list. Unused positions
-- repeat the first run; with more than 32 runs only the range is used.
CREATE OR REPLACE MACRO nth_run_id(run_ids, n) AS coalesce(run_ids[n], run_ids[1]);
CREATE OR REPLACE MACRO is_among_requested(run_ids, run_id) AS coalesce(len(run_ids), 33) > 32 OR run_id IN (
    nth_run_id(run_ids, 1), nth_run_id(run_ids, 2), nth_run_id(run_ids, 3), nth_run_id(run_ids, 4),
    nth_run_id(run_ids, 5), nth_run_id(run_ids, 6), nth_run_id(run_ids, 7), nth_run_id(run_ids, 8),
    nth_run_id(run_ids, 9), nth_run_id(run_ids, 10), nth_run_id(run_ids, 11), nth_run_id(run_ids, 12),
    nth_run_id(run_ids, 13), nth_run_id(run_ids, 14), nth_run_id(run_ids, 15), nth_run_id(run_ids, 16),
    nth_run_id(run_ids, 17), nth_run_id(run_ids, 18), nth_run_id(run_ids, 19), nth_run_id(run_ids, 20),
    nth_run_id(run_ids, 21), nth_run_id(run_ids, 22), nth_run_id(run_ids, 23), nth_run_id(run_ids, 24),
    nth_run_id(run_ids, 25), nth_run_id(run_ids, 26), nth_run_id(run_ids, 27), nth_run_id(run_ids, 28),
    nth_run_id(run_ids, 29), nth_run_id(run_ids, 30), nth_run_id(run_ids, 31), nth_run_id(run_ids, 32)
);
CREATE OR REPLACE MACRO is_in_requested_range(run_ids, run_id) AS
    run_id >= coalesce(list_min(run_ids), '') AND run_id <= coalesce(list_max(run_ids), chr(1114111))
    AND is_among_requested(run_ids, run_id);

CREATE OR REPLACE MACRO ratio(part, whole) AS part / nullif(whole, 0);

-- Null as soon as one rank's share is unknown: the sum of the others would be wrong.
CREATE OR REPLACE MACRO sum_of_all(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

-- NaN and infinities are not counts; a store older than the validation of samples may contain them.
CREATE OR REPLACE MACRO finite(x) AS CASE WHEN isfinite(x) THEN x END;
CREATE OR REPLACE MACRO grown(total, before) AS CASE WHEN isfinite(total) AND isfinite(before) THEN total - before END;

CREATE OR REPLACE MACRO subtract_lists(a, b) AS
    CASE WHEN len(a) = len(b) THEN list_transform(range(1, len(a) + 1), lambda i: grown(a[i], b[i])) END;

-- Before the first accepted token a server exports no count per position: each is 0 then.
CREATE OR REPLACE MACRO positions_before(now, before, accepted_before) AS
    CASE WHEN before IS NULL AND accepted_before = 0 THEN list_transform(now, lambda x: 0.0) ELSE before END;

-- The sum of lists by position, null if there is none.
CREATE OR REPLACE MACRO add_lists(lists) AS
    list_transform(range(1, list_max(list_transform(lists, lambda l: len(l))) + 1),
        lambda i: list_sum(list_transform(lists, lambda l: l[i])));
CREATE OR REPLACE MACRO sum_of_lists(x) AS add_lists(list(x) FILTER (x IS NOT NULL));

-- The definition of acceptance in SQL (engines/acceptance.py has it for selected windows and requests): ratios of sums
-- over an interval, a window or a run. The length includes the bonus token; the rate per position is over all drafts.
CREATE OR REPLACE MACRO acceptance_length_of(accepted, drafts) AS 1 + ratio(accepted, drafts);
CREATE OR REPLACE MACRO acceptance_rate_of(accepted, draft_tokens) AS ratio(accepted, draft_tokens);
CREATE OR REPLACE MACRO per_position_of(accepted_per_pos, drafts) AS
    CASE WHEN drafts > 0 THEN list_transform(accepted_per_pos, lambda x: x / drafts) END;

-- If every verify step drafts and yields one bonus token, tokens divided by the mean length are the verify steps and the
-- drafts. They are good for ratios only: a step rate derived from the token rate would not be a measurement.
CREATE OR REPLACE MACRO verified_drafts(tokens, mean_length) AS tokens / nullif(mean_length, 0);
CREATE OR REPLACE MACRO verified_accepted(tokens, mean_length) AS tokens - verified_drafts(tokens, mean_length);
CREATE OR REPLACE MACRO verified_draft_tokens(tokens, mean_length, rate) AS
    verified_accepted(tokens, mean_length) / nullif(rate, 0);

-- The tokens of a step arrive together, and a step may last a tenth of a second: within less than 0.25 s the number of
-- steps in a scrape is chance, so the scrape is skipped. Deliberately shorter intervals are used, down to half the usual
-- interval.
CREATE OR REPLACE MACRO is_too_soon(gap_s, usual_s) AS coalesce(gap_s < least(0.25, usual_s / 2), false);

-- Reasons are codes with values, 'no_answer seconds=7.6': reasons.py defines them, docs/reasons.md explains them.

-- Why an interval must not be used for a rate; null: it may. `usual_s`: the median interval of the run.
CREATE OR REPLACE MACRO is_silent(dt_s, usual_s) AS dt_s > greatest(5, 3 * usual_s);
CREATE OR REPLACE MACRO break_reason(is_reset, dt_s, usual_s) AS CASE
    WHEN is_reset THEN 'counter_reset'
    WHEN is_silent(dt_s, usual_s) THEN 'no_answer seconds=' || round(dt_s, 1)
END;

-- Why the counters of one scrape contradict each other, null if they do not: a scrape of a loaded server may show one
-- counter ahead of the other. `most`: the tokens that one step can yield; null: unknown.
CREATE OR REPLACE MACRO contradiction(tokens, steps, accepted, most) AS CASE
    WHEN tokens > 1.000001 * most * steps THEN 'too_many_tokens_a_step tokens=' || round(tokens / steps, 1) || ' most=' || most::BIGINT
    WHEN tokens > 1.25 * (steps + accepted)
        THEN 'more_tokens_than_steps'
END;

-- Without drafts a step yields one token per request, so tokens are steps if both counters nearly agree.
CREATE OR REPLACE MACRO plain_steps(tokens, steps, is_draftless) AS
    CASE WHEN is_draftless AND tokens BETWEEN 0.75 * steps AND 1.25 * steps THEN tokens ELSE steps END;

-- 'active': decoding and nothing else throughout the interval.
CREATE OR REPLACE MACRO activity_of(tokens, fresh, running_before, running) AS CASE
    WHEN tokens IS NULL OR fresh IS NULL THEN NULL
    WHEN tokens > 0 AND fresh = 0 AND running_before >= 1 AND running >= 1 THEN 'active'
    WHEN tokens > 0 THEN 'mixed'
    WHEN fresh > 0 OR running >= 1 THEN 'prefill'
    ELSE 'idle'
END;

-- The activity of several intervals: the common one, 'mixed' if they differ, null if one is unknown.
CREATE OR REPLACE MACRO common_activity(activity) AS CASE
    WHEN count(activity) < count(*) THEN NULL
    WHEN min(activity) = max(activity) THEN min(activity)
    ELSE 'mixed'
END;

-- The activity of the working ranks; idle if none works.
CREATE OR REPLACE MACRO rank_activity(activity) AS CASE
    WHEN count(activity) < count(*) THEN NULL
    WHEN min(nullif(activity, 'idle')) IS NULL THEN 'idle'
    WHEN min(nullif(activity, 'idle')) = max(nullif(activity, 'idle')) THEN min(nullif(activity, 'idle'))
    ELSE 'mixed'
END;

-- A config is long: it is parsed once for all of its columns.
CREATE OR REPLACE MACRO config_fields(config) AS from_json(config, '{
    "engine": "VARCHAR", "engine_version": "VARCHAR", "launcher": "VARCHAR", "image": "VARCHAR", "model": "VARCHAR",
    "quantization": "VARCHAR", "dtype": "VARCHAR", "kv_cache_dtype": "VARCHAR", "max_model_len": "BIGINT",
    "tensor_parallel": "BIGINT", "pipeline_parallel": "BIGINT", "data_parallel": "BIGINT", "gpus": "VARCHAR",
    "gpu_memory_fraction": "DOUBLE", "max_num_seqs": "BIGINT", "max_num_batched_tokens": "BIGINT",
    "prefix_caching": "BOOLEAN", "chunked_prefill": "BOOLEAN", "enforce_eager": "BOOLEAN",
    "tool_call_parser": "VARCHAR", "reasoning_parser": "VARCHAR", "env": "MAP(VARCHAR, VARCHAR)",
    "unknown_flags": ["VARCHAR"], "argv": ["VARCHAR"],
    "speculative": {"method": "VARCHAR", "model": "VARCHAR", "num_tokens": "BIGINT"}
}');

-- Whether a run speculates, by its config (config_fields) or by its engine; null: its command line is unknown.
CREATE OR REPLACE MACRO speculation_of(c, shown) AS CASE
    WHEN shown OR c.speculative IS NOT NULL THEN true
    WHEN len(c.argv) > 0 THEN false
END;
