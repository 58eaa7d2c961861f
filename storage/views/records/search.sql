-- Ended runs that pass the filters; a null filter passes all. Archived runs are left out unless marks asks for them.
-- Words are matched in lower case.
CREATE OR REPLACE MACRO runs_found(
    words := NULL, engines := NULL, workloads := NULL, kinds := NULL, states := NULL, tags := NULL, marks := NULL,
    machines := NULL, since := NULL
) AS TABLE
SELECT r.*, coalesce(n.tags, []) AS tags
FROM runs r LEFT JOIN run_notes_of(NULL) n USING (run_id)
WHERE list_contains(['finished', 'failed'], r.state)
    AND (states IS NULL OR list_contains(states, r.shown_state))
    AND (engines IS NULL OR list_contains(engines, r.engine))
    AND (workloads IS NULL OR list_contains(workloads, coalesce(r.workload, 'watch')))
    AND (kinds IS NULL OR list_contains(kinds, r.kind))
    AND (machines IS NULL OR list_contains(machines, r.machine_id))
    AND (since IS NULL OR coalesce(r.started_at, r.created_at) >= since)
    AND (tags IS NULL OR list_has_all(coalesce(n.tags, []), tags))
    AND (coalesce(n.is_archived, false) = list_contains(coalesce(marks, []), 'archived'))
    AND (coalesce(n.is_starred, false) OR NOT list_contains(coalesce(marks, []), 'starred'))
    AND (
        words IS NULL
        OR list_bool_and([
            contains(
                lower(concat_ws(
                    ' ', r.run_id, r.name, r.arm, r.model, r.config, r.note, r.cause,
                    n.text, n.impression, array_to_string(n.tags, ' ')
                )),
                word
            )
            FOR word IN words
        ])
    );
COMMENT ON MACRO TABLE runs_found IS 'runs_found(words := null, engines := null, workloads := null, kinds := null, states := null, tags := null, marks := null, machines := null, since := null): the runs that pass the filters of the Runs page, with their tags; each filter is a list, since is a time.';
