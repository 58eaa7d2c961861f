-- The runs with a load imported from this file.
SELECT run_id FROM loads SEMI JOIN raw.runs ON id = run_id WHERE source_sha256 = $sha256 GROUP BY run_id ORDER BY min(ts)
