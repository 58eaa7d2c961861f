-- Sealed parts of ended runs are merged into larger files. A part stays the row that it was: its run, its table, its
-- path as it was sealed. Null: the part has a file of its own at `path`.
ALTER TABLE raw.sealed_files ADD COLUMN merged_path VARCHAR; -- the file that holds its rows now
ALTER TABLE raw.sealed_files ADD COLUMN merged_row BIGINT; -- the first of them in that file, counted from 0
ALTER TABLE raw.sealed_files ADD COLUMN merged_sha256 VARCHAR; -- of that file
ALTER TABLE raw.sealed_files ADD COLUMN sha256 VARCHAR; -- of the part as it was sealed; null: an older Pitwall sealed it
