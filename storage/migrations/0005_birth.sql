-- A process is known by its number and by its birth in seconds after the boot: times since the epoch move with the clock.
ALTER TABLE raw.runs ADD COLUMN pid_birth_s DOUBLE;
