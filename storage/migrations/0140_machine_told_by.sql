-- Which machine's Pitwall told it: what a machine says of itself goes before what another noted when it launched there.
ALTER TABLE raw.machines ADD COLUMN told_by VARCHAR;
