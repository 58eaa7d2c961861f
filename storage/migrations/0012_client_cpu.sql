-- Whether the load generator was the limit: the CPU that it used in each phase.
ALTER TABLE raw.load_phases ADD COLUMN client_cpu_s DOUBLE;
