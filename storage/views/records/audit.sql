CREATE OR REPLACE VIEW audit AS FROM raw.audit;

COMMENT ON VIEW audit IS 'Every change made by a person, one row per affected run.';
COMMENT ON COLUMN audit.ts IS 'time of the change';
COMMENT ON COLUMN audit.role IS 'role of the person, or the user at a shell of this machine; only the operator can change anything';
COMMENT ON COLUMN audit.action IS 'launch, stop, cancel, attach, share, revoke, ... as on the page';
COMMENT ON COLUMN audit.run_id IS 'the affected run; null: none';
COMMENT ON COLUMN audit.detail IS 'details';
