-- SGLang only: its verify steps, its counters, and its decode lines.

CREATE OR REPLACE MACRO sglang_intervals(interval_rows) AS TABLE
SELECT
    decoded AS decode_tokens, dt_s AS decode_s, decoded AS printed_tokens, decoded AS step_tokens,
    CASE WHEN speculates THEN verified_drafts(decoded, accept_length_gauge) WHEN NOT speculates THEN decoded END AS steps,
    CASE WHEN NOT speculates THEN dt_s END AS step_s, steps AS decode_steps,
    verified_drafts(decoded, accept_length_gauge) AS drafts, verified_accepted(decoded, accept_length_gauge) AS accepted,
    verified_draft_tokens(decoded, accept_length_gauge, accept_rate_gauge) AS draft_tokens,
    NULL::DOUBLE[] AS accepted_per_pos,
    activity_of(decoded, fresh_tokens, running_before, requests_running) AS activity,
    CASE
        WHEN decoded IS NULL THEN 'decode_not_counted'
        WHEN speculates THEN 'no_step_counter'
        WHEN speculates IS NULL THEN 'speculation_not_known'
    END AS gap,
    * EXCLUDE (decoded, decode_seconds, drafts, draft_tokens, accepted, accepted_per_pos, num_tokens, positions, broken),
    -- SGLang's draft tokens are those of a verify step: the most that one can yield.
    coalesce(broken, contradiction(decode_tokens, steps, NULL, num_tokens)) AS broken
FROM query_table(interval_rows) WHERE definition = 'sglang.counter';

-- A decode line covers the time since the previous decode line, including a prefill or a gap in between.
CREATE OR REPLACE MACRO sglang_line_activity(kind, kind_before, broken, tokens) AS CASE
    WHEN kind = 'prefill' THEN 'prefill'
    WHEN kind <> 'decode' OR tokens IS NULL THEN NULL
    WHEN kind_before = 'decode' AND broken IS NULL THEN 'active'
    ELSE 'mixed'
END;

CREATE OR REPLACE MACRO sglang_line_tokens_per_step(definition, kind, mean_length, speculates) AS
    CASE WHEN definition = 'sglang.log' AND kind = 'decode' THEN
        coalesce(mean_length, CASE WHEN NOT speculates THEN 1 END)
    END;
