-- The runs that were launched together, in the order of their making.
FROM raw.runs WHERE batch_id = $batch_id ORDER BY id
