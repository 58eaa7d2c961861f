-- A check's place: the depth and number of its history, and the request that makes checks of two servers a pair.
ALTER TABLE raw.checks ADD COLUMN depth_tokens BIGINT;
ALTER TABLE raw.checks ADD COLUMN repeat BIGINT;
ALTER TABLE raw.checks ADD COLUMN item_hash VARCHAR;
