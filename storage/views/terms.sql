-- The words that every formula is made of.

-- Whether a row is of the runs asked about; null: of all runs. Written right over each table, below windows and joins, it
-- keeps the rows of other runs from being read.
CREATE OR REPLACE MACRO is_asked(run_ids, run_id) AS run_ids IS NULL OR list_contains(run_ids, run_id);

-- Whether a row is of the stretch asked about, of which a null bound is none. Like is_asked it belongs right over a table.
-- What is told by the row before begins a minute earlier, so that the first rates of a stretch are those of the whole.
CREATE OR REPLACE MACRO is_within(ts, since, until) AS (since IS NULL OR ts > since) AND (until IS NULL OR ts <= until);
CREATE OR REPLACE MACRO led_in(since) AS since - INTERVAL 1 MINUTE;

CREATE OR REPLACE MACRO stored_runs(run_ids) AS TABLE FROM raw.runs WHERE is_asked(run_ids, id);

-- Of sealed files, '<table>/run_id=<run>/<number>.parquet' a line, those of the runs asked about. Where these have none,
-- the first: a scan needs a file to know its columns, and reads no more of it. One text is planned faster than a list.
CREATE OR REPLACE MACRO files_of(run_ids, folder, files) AS list_transform(
    coalesce(
        nullif(list_filter(string_split(files, chr(10)), lambda f: is_asked(run_ids, split_part(f, '/', 2)[8:])), []),
        string_split(files, chr(10))[:1]
    ),
    lambda f: folder || '/' || f
);

-- The same of merged files, '<table>/merged/<first run>..<last run>..<checksum>.parquet', whose rows lie in the order of
-- their runs.
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

-- Row groups are left out by the runs that are in them, which DuckDB looks at for an IN of constants and for a range,
-- not for a list. Unused places repeat the first run; of more than 32 runs only the range is looked at.
CREATE OR REPLACE MACRO nth_asked(run_ids, n) AS coalesce(run_ids[n], run_ids[1]);
CREATE OR REPLACE MACRO is_named(run_ids, run_id) AS coalesce(len(run_ids), 33) > 32 OR run_id IN (
    nth_asked(run_ids, 1), nth_asked(run_ids, 2), nth_asked(run_ids, 3), nth_asked(run_ids, 4),
    nth_asked(run_ids, 5), nth_asked(run_ids, 6), nth_asked(run_ids, 7), nth_asked(run_ids, 8),
    nth_asked(run_ids, 9), nth_asked(run_ids, 10), nth_asked(run_ids, 11), nth_asked(run_ids, 12),
    nth_asked(run_ids, 13), nth_asked(run_ids, 14), nth_asked(run_ids, 15), nth_asked(run_ids, 16),
    nth_asked(run_ids, 17), nth_asked(run_ids, 18), nth_asked(run_ids, 19), nth_asked(run_ids, 20),
    nth_asked(run_ids, 21), nth_asked(run_ids, 22), nth_asked(run_ids, 23), nth_asked(run_ids, 24),
    nth_asked(run_ids, 25), nth_asked(run_ids, 26), nth_asked(run_ids, 27), nth_asked(run_ids, 28),
    nth_asked(run_ids, 29), nth_asked(run_ids, 30), nth_asked(run_ids, 31), nth_asked(run_ids, 32)
);
CREATE OR REPLACE MACRO is_between_asked(run_ids, run_id) AS
    run_id >= coalesce(list_min(run_ids), '') AND run_id <= coalesce(list_max(run_ids), chr(1114111))
    AND is_named(run_ids, run_id);

CREATE OR REPLACE MACRO ratio(part, whole) AS part / nullif(whole, 0);

-- Null as soon as one rank's share is unknown: a sum of the others would be a wrong number.
CREATE OR REPLACE MACRO sum_of_all(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

-- NaN and infinities are no counts; a store that is older than the check of the samples may hold them.
CREATE OR REPLACE MACRO finite(x) AS CASE WHEN isfinite(x) THEN x END;
CREATE OR REPLACE MACRO grown(total, before) AS CASE WHEN isfinite(total) AND isfinite(before) THEN total - before END;

CREATE OR REPLACE MACRO subtract_lists(a, b) AS
    CASE WHEN len(a) = len(b) THEN list_transform(range(1, len(a) + 1), lambda i: grown(a[i], b[i])) END;

-- Where nothing was accepted yet no position has a count, for a server names none before its first: each is 0 then.
CREATE OR REPLACE MACRO positions_before(now, before, accepted_before) AS
    CASE WHEN before IS NULL AND accepted_before = 0 THEN list_transform(now, lambda x: 0.0) ELSE before END;

CREATE OR REPLACE MACRO add_lists(lists) AS
    list_transform(range(1, list_max(list_transform(lists, lambda l: len(l))) + 1),
        lambda i: list_sum(list_transform(lists, lambda l: l[i])));

-- The home of acceptance in SQL (engines/acceptance.py has it for chosen windows and requests): ratios of sums over an
-- interval, a window or a run. The bonus token is in the length, and the share of each position is of all drafts.
CREATE OR REPLACE MACRO acceptance_length_of(accepted, drafts) AS 1 + ratio(accepted, drafts);
CREATE OR REPLACE MACRO acceptance_rate_of(accepted, draft_tokens) AS ratio(accepted, draft_tokens);
CREATE OR REPLACE MACRO per_position_of(accepted_per_pos, drafts) AS
    CASE WHEN drafts > 0 THEN list_transform(accepted_per_pos, lambda x: x / drafts) END;

-- Where every verify step drafts and gives one bonus token, tokens over the mean length are the verify steps, and the drafts.
-- They are good for ratios only: a rate of steps made from the token rate would be no measurement.
CREATE OR REPLACE MACRO verified_drafts(tokens, mean_length) AS tokens / nullif(mean_length, 0);
CREATE OR REPLACE MACRO verified_accepted(tokens, mean_length) AS tokens - verified_drafts(tokens, mean_length);
CREATE OR REPLACE MACRO verified_draft_tokens(tokens, mean_length, rate) AS
    verified_accepted(tokens, mean_length) / nullif(rate, 0);

-- A step's tokens come all at once, and a step may last a tenth of a second: over less than 0.25 s it is chance how many
-- steps a look saw, so it is left to the next one. Who looks more often on purpose may, down to half the usual interval.
CREATE OR REPLACE MACRO is_too_soon(gap_s, usual_s) AS coalesce(gap_s < least(0.25, usual_s / 2), false);

-- Reasons are codes with their values, 'no_answer seconds=7.6': reasons.py has them, docs/reasons.md the words.

-- An interval nobody should draw a rate from, and why. `usual_s`: the median interval of the run.
CREATE OR REPLACE MACRO is_silent(dt_s, usual_s) AS dt_s > greatest(5, 3 * usual_s);
CREATE OR REPLACE MACRO break_reason(fell, dt_s, usual_s) AS CASE
    WHEN fell THEN 'counter_reset'
    WHEN is_silent(dt_s, usual_s) THEN 'no_answer seconds=' || round(dt_s, 1)
END;

-- Why the counters of one look contradict each other, null where they do not: a scrape of a loaded server may show one
-- counter further than the other. `most`: the tokens that one step can give, null where that is not known.
CREATE OR REPLACE MACRO contradiction(tokens, steps, accepted, most) AS CASE
    WHEN tokens > 1.000001 * most * steps THEN 'too_many_tokens_a_step tokens=' || round(tokens / steps, 1) || ' most=' || most::BIGINT
    WHEN tokens > 1.25 * (steps + accepted)
        THEN 'more_tokens_than_steps'
END;

-- Without drafts a step gives a request one token, so tokens are steps where both counters nearly agree.
CREATE OR REPLACE MACRO plain_steps(tokens, steps, is_draftless) AS
    CASE WHEN is_draftless AND tokens BETWEEN 0.75 * steps AND 1.25 * steps THEN tokens ELSE steps END;

-- Nothing but decoding, from one end to the other, is 'active'.
CREATE OR REPLACE MACRO activity_of(tokens, fresh, running_before, running) AS CASE
    WHEN tokens IS NULL OR fresh IS NULL THEN NULL
    WHEN tokens > 0 AND fresh = 0 AND running_before >= 1 AND running >= 1 THEN 'active'
    WHEN tokens > 0 THEN 'mixed'
    WHEN fresh > 0 OR running >= 1 THEN 'prefill'
    ELSE 'idle'
END;

-- One word for several: the common one, 'mixed' when they differ, null when one is unknown.
CREATE OR REPLACE MACRO common_activity(activities, total) AS CASE
    WHEN coalesce(len(activities), 0) < total THEN NULL
    WHEN len(list_distinct(activities)) = 1 THEN activities[1]
    ELSE 'mixed'
END;

-- Of the ranks that work; idle when none does.
CREATE OR REPLACE MACRO rank_activity(activities, total) AS CASE
    WHEN coalesce(len(activities), 0) < total THEN NULL
    WHEN list_distinct(activities) = ['idle'] THEN 'idle'
    ELSE common_activity(list_filter(activities, lambda a: a <> 'idle'), 0)
END;

-- A config is a long text: it is parsed once for all of its columns.
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

-- Whether a run speculates: as its config says (config_fields), or as its engine shows; null where the command line is not known.
CREATE OR REPLACE MACRO speculation_of(c, shown) AS CASE
    WHEN shown OR c.speculative IS NOT NULL THEN true
    WHEN len(c.argv) > 0 THEN false
END;
