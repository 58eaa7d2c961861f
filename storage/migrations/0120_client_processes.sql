-- Over how many processes the load generator was spread by the end of each phase.
ALTER TABLE raw.load_phases ADD COLUMN client_processes BIGINT;
