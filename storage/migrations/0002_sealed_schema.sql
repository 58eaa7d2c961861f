-- Which schema a sealed file was written under: files of different columns are not read by one scan.
ALTER TABLE raw.sealed_files ADD COLUMN schema_number INTEGER;
UPDATE raw.sealed_files SET schema_number = 1;
