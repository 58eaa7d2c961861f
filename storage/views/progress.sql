-- The increments of every engine between two scrapes in one shape; in an interval with a reset or a gap all of them are
-- null. `bridged`: the increments across a gap in which the same server did nothing but decode; they count in a mean.

-- The increments as counted, including broken intervals. With is_counted they are correct as a sum, although not over
-- time: across a gap, or when one counter was read later than another.
CREATE OR REPLACE MACRO counter_intervals(since, until, run_ids) AS TABLE
WITH engine_rows AS (
    FROM scrape_intervals(since, until, run_ids)
)
FROM engine_intervals('engine_rows');

-- intervals: the name of a relation with the rows of `counter_intervals`, if the caller has one.
CREATE OR REPLACE MACRO progress_in(intervals) AS TABLE
SELECT
    run_id, 'counter' AS source, definition, engine_index, ts, mono_s, dt_s,
    unbroken.*, bridged,
    running_before, requests_running, requests_waiting, kv_usage_ratio,
    coalesce(broken, gap) AS reason
FROM (
    SELECT
        CASE WHEN broken IS NULL THEN {
            'covered_s': dt_s, 'decode_tokens': decode_tokens, 'decode_s': decode_s, 'printed_tokens': printed_tokens,
            'step_tokens': step_tokens, 'steps': steps, 'step_s': step_s, 'decode_steps': decode_steps,
            'drafts': drafts, 'draft_tokens': draft_tokens, 'accepted': accepted, 'accepted_per_pos': accepted_per_pos,
            'prompt_tokens': prompt_tokens, 'preemptions': preemptions, 'activity': activity
        } END AS unbroken,
        CASE WHEN starts_with(broken, 'no_answer') AND is_counted AND gap IS NULL AND activity = 'active' THEN {
            'tokens': decode_tokens, 's': decode_s, 'steps': decode_steps, 'drafts': drafts, 'accepted': accepted
        } END AS bridged,
        *
    FROM query_table(intervals)
);

CREATE OR REPLACE MACRO counter_progress(since, until, run_ids) AS TABLE
WITH intervals AS (
    FROM counter_intervals(since, until, run_ids)
)
FROM progress_in('intervals');

CREATE OR REPLACE MACRO progress_since(since, until, run_ids) AS TABLE
FROM counter_progress(since, until, run_ids) UNION ALL BY NAME FROM slot_progress(since, until, run_ids);

CREATE OR REPLACE VIEW progress AS FROM progress_since(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, NULL::VARCHAR[]);
