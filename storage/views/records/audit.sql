CREATE OR REPLACE VIEW audit AS FROM raw.audit;

COMMENT ON VIEW audit IS 'Every change that somebody made through the pages, one row a run it touched.';
COMMENT ON COLUMN audit.ts IS 'when it was done';
COMMENT ON COLUMN audit.role IS 'the role, or who was at a shell of this machine: only the operator may change anything';
COMMENT ON COLUMN audit.action IS 'launch, stop, cancel, attach, share, revoke, ... as the page calls it';
COMMENT ON COLUMN audit.run_id IS 'the run it was done to; null where it concerns none';
COMMENT ON COLUMN audit.detail IS 'what else is to be said, in words';
