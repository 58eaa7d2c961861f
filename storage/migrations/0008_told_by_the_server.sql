-- When the server says that its process began: a counter that starts anew may stand higher than where it fell from.
ALTER TABLE raw.counter_samples ADD COLUMN process_start_s DOUBLE;
-- What the server's log says of its start, beside what was asked of it.
ALTER TABLE raw.runs ADD COLUMN told JSON;
