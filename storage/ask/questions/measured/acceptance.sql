-- Acceptance of each run over all its life, of one source: the engine's counters, else its log. One that tells the length
-- goes before one that does not, and one that saw drafts before one that saw none.
FROM acceptance_of($run_ids)
QUALIFY row_number() OVER (
    PARTITION BY run_id ORDER BY acceptance_length IS NULL, coalesce(drafted, 0) = 0, source, definition
) = 1
