-- Under which address others reach the Pitwall on a machine, where its operator has set one.
ALTER TABLE raw.machines ADD COLUMN url VARCHAR;
