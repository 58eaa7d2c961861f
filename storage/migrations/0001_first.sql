-- Raw rows as they were taken in: nothing derived lives here. Times are UTC, monotonic seconds are the collector's clock.
CREATE TABLE raw.runs (
    id VARCHAR NOT NULL,
    name VARCHAR,
    color INTEGER,
    kind VARCHAR,
    state VARCHAR,
    phase VARCHAR,
    config JSON,
    workload JSON,
    batch_id VARCHAR,
    queue_position DOUBLE,
    stop_when_done BOOLEAN,
    machine_id VARCHAR,
    run_dir VARCHAR,
    log_path VARCHAR,
    base_url VARCHAR,
    ready_path VARCHAR,
    ready_timeout_s DOUBLE,
    pid BIGINT,
    pid_started_at DOUBLE,
    created_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ,
    ready_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    exit_code INTEGER,
    exit_signal INTEGER,
    cause VARCHAR,
    cause_line VARCHAR,
    note VARCHAR,
    fingerprint VARCHAR
);

CREATE TABLE raw.counter_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    definition VARCHAR,
    engine_index BIGINT,
    generation_tokens_total DOUBLE,
    first_tokens_total DOUBLE,
    inter_token_count_total DOUBLE,
    decode_tokens_total DOUBLE,
    decode_seconds_total DOUBLE,
    decode_calls_total DOUBLE,
    prompt_tokens_total DOUBLE,
    prompt_tokens_cached_total DOUBLE,
    drafts_total DOUBLE,
    draft_tokens_total DOUBLE,
    accepted_tokens_total DOUBLE,
    accepted_per_pos_total DOUBLE[],
    preemptions_total DOUBLE,
    requests_running DOUBLE,
    requests_waiting DOUBLE,
    kv_usage_ratio DOUBLE,
    accept_length_gauge DOUBLE,
    accept_rate_gauge DOUBLE,
    generation_tps_gauge DOUBLE
);

CREATE TABLE raw.slot_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    slot BIGINT,
    task BIGINT,
    is_processing BOOLEAN,
    n_decoded BIGINT,
    n_tokens BIGINT,
    n_ctx BIGINT,
    decode_calls_total DOUBLE
);

CREATE TABLE raw.log_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    "offset" BIGINT,
    line BIGINT,
    definition VARCHAR,
    ts_source VARCHAR,
    engine_index BIGINT,
    rank VARCHAR,
    kind VARCHAR,
    window_s DOUBLE,
    generation_tps DOUBLE,
    prompt_tps DOUBLE,
    requests_running DOUBLE,
    requests_waiting DOUBLE,
    kv_usage_ratio DOUBLE,
    acceptance_length DOUBLE,
    acceptance_rate DOUBLE,
    accepted_tokens DOUBLE,
    drafted_tokens DOUBLE,
    per_position DOUBLE[],
    generated_tokens DOUBLE,
    extra JSON
);

CREATE TABLE raw.gpu_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    machine_id VARCHAR,
    gpu_index BIGINT,
    gpu_uuid VARCHAR,
    gpu_name VARCHAR,
    power_w DOUBLE,
    power_limit_w DOUBLE,
    energy_j_total DOUBLE,
    sm_clock_mhz DOUBLE,
    sm_clock_max_mhz DOUBLE,
    memory_clock_mhz DOUBLE,
    utilization_ratio DOUBLE,
    memory_utilization_ratio DOUBLE,
    memory_used_bytes BIGINT,
    memory_total_bytes BIGINT,
    memory_kind VARCHAR,
    process_memory_bytes BIGINT,
    temperature_c DOUBLE,
    memory_temperature_c DOUBLE,
    throttle_reasons BIGINT,
    unknown JSON
);

CREATE TABLE raw.host_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    machine_id VARCHAR,
    process_count BIGINT,
    cpu_seconds_total DOUBLE,
    cpu_ratio DOUBLE,
    rss_bytes BIGINT,
    threads BIGINT,
    host_cpu_ratio DOUBLE,
    host_cores BIGINT,
    host_memory_used_bytes BIGINT,
    host_memory_total_bytes BIGINT
);

CREATE TABLE raw.requests (
    run_id VARCHAR,
    request_id VARCHAR,
    workload VARCHAR,
    phase VARCHAR,
    prompt_class VARCHAR,
    stream BIGINT,
    concurrency BIGINT,
    sent_at TIMESTAMPTZ,
    ttft_ms DOUBLE,
    decode_ms DOUBLE,
    total_ms DOUBLE,
    prompt_tokens BIGINT,
    completion_tokens BIGINT,
    token_source VARCHAR,
    chunks BIGINT,
    draft_tokens BIGINT,
    accepted_tokens BIGINT,
    finish_reason VARCHAR,
    http_status BIGINT,
    error_kind VARCHAR,
    error_text VARCHAR,
    prompt_hash VARCHAR,
    sampling JSON,
    extra JSON
);

CREATE TABLE raw.events (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    kind VARCHAR,
    text VARCHAR,
    line BIGINT,
    "offset" BIGINT,
    data JSON
);

CREATE TABLE raw.collector_health (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    collector VARCHAR,
    ok BOOLEAN,
    duration_ms DOUBLE,
    error VARCHAR
);

CREATE TABLE raw.metric_definitions (
    definition VARCHAR,
    metric VARCHAR,
    formula VARCHAR,
    null_reason VARCHAR
);

CREATE TABLE raw.tail_positions (
    run_id VARCHAR,
    path VARCHAR,
    generation BIGINT,
    inode UBIGINT,
    "offset" BIGINT
);

-- Parquet files that hold rows moved out of the tables above; the path is relative to the parquet folder.
CREATE TABLE raw.sealed_files (
    path VARCHAR,
    table_name VARCHAR,
    run_id VARCHAR,
    row_count BIGINT,
    sealed_at TIMESTAMPTZ
);

-- One row: the number of the writer's last transaction, so that a commit with an unclear outcome can be looked up.
CREATE TABLE raw.commits (number BIGINT);
INSERT INTO raw.commits VALUES (0);
