-- The runs launched together, in the order of their creation.
FROM raw.runs WHERE batch_id = $batch_id ORDER BY id
