-- What a server start serves after its first workload, one after the other: a list of specs; null: nothing.
ALTER TABLE raw.runs ADD COLUMN later_workloads JSON;
