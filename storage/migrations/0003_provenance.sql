-- What a run ran on: image or package, model files, GPUs and host, as they were at its start.
ALTER TABLE raw.runs ADD COLUMN provenance JSON;
