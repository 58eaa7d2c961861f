-- Registers what was shipped before this rule existed; one row for a part that was shipped twice.
INSERT INTO {locks}.pitwall_parts SELECT run_id, table_name, part, min(owner) FROM {lake}.shipments AS told
WHERE NOT EXISTS (FROM {locks}.pitwall_parts AS had
    WHERE had.run_id = told.run_id AND had.table_name = told.table_name AND had.part = told.part)
GROUP BY ALL;
INSERT INTO {locks}.pitwall_owners SELECT run_id, min(owner) FROM {lake}.shipments
WHERE table_name NOT IN ('machines', 'machine_labels') AND run_id NOT IN (SELECT run_id FROM {locks}.pitwall_owners)
GROUP BY ALL
