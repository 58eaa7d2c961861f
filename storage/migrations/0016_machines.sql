-- Machines as a Pitwall on them told them last, and the labels that people gave.
CREATE TABLE raw.machines (
    id VARCHAR NOT NULL,
    host_name VARCHAR,
    addresses VARCHAR[],
    system VARCHAR,
    cpu VARCHAR,
    cores BIGINT,
    memory_bytes BIGINT,
    gpus JSON,
    gpus_reason VARCHAR,
    driver_version VARCHAR,
    cuda_version VARCHAR,
    seen_at TIMESTAMPTZ
);

CREATE TABLE raw.machine_labels (machine_id VARCHAR NOT NULL, label VARCHAR, labelled_at TIMESTAMPTZ);
