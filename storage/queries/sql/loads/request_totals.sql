-- Totals of Pitwall's own requests on each run, without warm-up. An answer that goes on past its end on request loops
-- only if its loop begins before the share $earliest_end of the text.
WITH measured AS (
    SELECT
        run_id, error_kind, extra->>'$.collapse.verdict' AS verdict,
        coalesce((sampling->>'$.ignore_eos')::BOOLEAN, false) AS goes_on,
        (extra->>'$.collapse.onset_word')::DOUBLE AS onset_word, (extra->>'$.collapse.words')::DOUBLE AS words
    FROM requests_of($run_ids) WHERE phase = 'measure'
)
SELECT
    run_id, count(*) AS sent_requests, count(error_kind) AS failed,
    count(verdict) FILTER (error_kind IS NULL) AS checked_answers,
    count(*) FILTER (
        error_kind IS NULL AND verdict = 'collapsed' AND (NOT goes_on OR onset_word < $earliest_end * words)
    ) AS looping_answers
FROM measured GROUP BY run_id
