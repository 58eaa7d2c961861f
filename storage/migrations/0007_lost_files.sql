-- Why a sealed file is left out of the views: it is missing, or it cannot be read. Null: it is in them.
ALTER TABLE raw.sealed_files ADD COLUMN lost_reason VARCHAR;
