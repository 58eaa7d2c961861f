-- The raw tables: rows as they were recorded, nothing derived. Times are UTC; monotonic seconds are the collector's clock.

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
    fingerprint VARCHAR,
    provenance JSON,
    pid_birth_s DOUBLE,  -- process start in seconds after boot; wall-clock times move with the clock
    told JSON,  -- what the server's log says of its configuration
    round INTEGER,
    round_seed BIGINT,
    arm VARCHAR,
    later_workloads JSON
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
    generation_tps_gauge DOUBLE,
    process_start_s DOUBLE  -- when the server says its process began; detects a counter reset
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
    unknown JSON,
    other_memory_bytes BIGINT,
    other_utilization_ratio DOUBLE,
    clock_offset_s DOUBLE,
    clock_uncertainty_s DOUBLE
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
    host_memory_total_bytes BIGINT,
    scheduled_seconds_total DOUBLE,
    runnable_wait_seconds_total DOUBLE,
    throttled_seconds_total DOUBLE,
    throttled_periods_total BIGINT,
    host_cpu_seconds_total DOUBLE,
    host_busy_seconds_total DOUBLE,
    host_steal_seconds_total DOUBLE,
    unknown JSON,
    clock_offset_s DOUBLE,
    clock_uncertainty_s DOUBLE
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
    extra JSON,
    load_id VARCHAR,
    phase_index BIGINT,
    sequence BIGINT,
    since_phase_s DOUBLE,
    segment BIGINT,
    chunk_us INTEGER[],
    chunk_tokens INTEGER[]
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

-- Parquet files with rows moved out of the tables above; paths are relative to the parquet folder.
CREATE TABLE raw.sealed_files (
    path VARCHAR,
    table_name VARCHAR,
    run_id VARCHAR,
    row_count BIGINT,
    sealed_at TIMESTAMPTZ,
    schema_number INTEGER,
    lost_reason VARCHAR,  -- why the views leave the file out: missing or unreadable; null: they read it
    merged_path VARCHAR,  -- the file that holds these rows now
    merged_row BIGINT,  -- the first of these rows in that file, counted from 0
    merged_sha256 VARCHAR,  -- checksum of the merged file
    sha256 VARCHAR  -- checksum of the part as it was sealed; null: not recorded
);

-- One row: the number of the writer's last transaction, to look up a commit whose outcome is unclear.
CREATE TABLE raw.commits (
    number BIGINT
);
INSERT INTO raw.commits VALUES (0);

-- Share links: the token is never stored, only what it opens.
CREATE TABLE raw.shares (
    id VARCHAR NOT NULL,
    run_ids VARCHAR[],
    page VARCHAR,
    created_at TIMESTAMPTZ,
    created_by VARCHAR,
    expires_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    note VARCHAR,
    study_id VARCHAR,
    query VARCHAR
);

CREATE TABLE raw.audit (
    ts TIMESTAMPTZ,
    role VARCHAR,
    action VARCHAR,
    run_id VARCHAR,
    detail VARCHAR
);

-- Loads: their parameters, their phases, and the server's counters between their segments.
CREATE TABLE raw.loads (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    tool VARCHAR,
    workload VARCHAR,
    tool_version VARCHAR,
    prompt_set_hash VARCHAR,
    params JSON,
    planned_requests BIGINT,
    planned_phases BIGINT,
    source_name VARCHAR,
    source_sha256 VARCHAR,
    command JSON
);

CREATE TABLE raw.load_phases (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    phase_index BIGINT,
    title VARCHAR,
    kind VARCHAR,
    concurrency BIGINT,
    began_at TIMESTAMPTZ,
    duration_s DOUBLE,
    paused_s DOUBLE,
    planned_requests BIGINT,
    is_complete BOOLEAN,
    client_cpu_s DOUBLE,
    client_processes BIGINT
);

CREATE TABLE raw.load_counters (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    segment BIGINT,
    definition VARCHAR,
    engine_index BIGINT,
    generation_tokens_total DOUBLE,
    first_tokens_total DOUBLE,
    inter_token_count_total DOUBLE,
    drafts_total DOUBLE,
    draft_tokens_total DOUBLE,
    accepted_tokens_total DOUBLE,
    requests_running DOUBLE,
    accepted_per_pos_total DOUBLE[]
);

CREATE TABLE raw.results (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    point VARCHAR,
    metric VARCHAR,
    statistic VARCHAR,
    unit VARCHAR,
    definition VARCHAR,
    value DOUBLE,
    n BIGINT,
    sd DOUBLE,
    concurrency BIGINT,
    prompt_tokens BIGINT,
    output_tokens BIGINT,
    depth_tokens BIGINT,
    reason VARCHAR
);

CREATE TABLE raw.checks (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    suite VARCHAR,
    case_name VARCHAR,
    mode VARCHAR,
    is_pass BOOLEAN,
    why VARCHAR,
    exchange JSON
);

CREATE TABLE raw.accuracy (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    task VARCHAR,
    filter VARCHAR,
    metric VARCHAR,
    correct BIGINT,
    n BIGINT,
    value DOUBLE,
    low DOUBLE,
    high DOUBLE,
    stderr DOUBLE,
    protocol_hash VARCHAR,
    protocol JSON,
    version VARCHAR,
    reason VARCHAR
);

CREATE TABLE raw.accuracy_items (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    task VARCHAR,
    filter VARCHAR,
    item_hash VARCHAR,
    item_id VARCHAR,
    score DOUBLE,
    is_error BOOLEAN,
    why VARCHAR,
    target VARCHAR,
    answer VARCHAR
);

CREATE TABLE raw.studies (
    id VARCHAR NOT NULL,
    title VARCHAR,
    question VARCHAR,
    state VARCHAR,
    created_at TIMESTAMPTZ,
    updated_at TIMESTAMPTZ,
    plan JSON,
    answer JSON
);

-- Notes on runs and gotchas: one row per version; the newest is in force.
CREATE TABLE raw.run_notes (
    run_id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    name VARCHAR,
    text VARCHAR,
    tags VARCHAR[],
    is_starred BOOLEAN,
    is_archived BOOLEAN,
    agentic_feel INTEGER,
    coding INTEGER,
    language INTEGER,
    impression VARCHAR
);

CREATE TABLE raw.gotchas (
    id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    engine VARCHAR,
    cause VARCHAR,
    flag VARCHAR,
    failure VARCHAR,
    workaround VARCHAR,
    link VARCHAR,
    run_id VARCHAR,
    is_withdrawn BOOLEAN
);

-- Deleted runs, restorable until their files are removed; purged_at: when their rows were removed.
CREATE TABLE raw.deleted_runs (
    run_id VARCHAR NOT NULL,
    deleted_at TIMESTAMPTZ,
    role VARCHAR,
    record JSON,
    purged_at TIMESTAMPTZ
);

-- Adopted operating points: rows are appended and never changed; a later one may supersede an earlier one.
CREATE TABLE raw.adopted (
    id VARCHAR NOT NULL,
    name VARCHAR,
    purpose VARCHAR,
    reason VARCHAR,
    config JSON,
    workload JSON,
    run_ids VARCHAR[],
    adopted_by VARCHAR,
    role VARCHAR,
    adopted_at TIMESTAMPTZ,
    supersedes VARCHAR
);

-- Machines as their Pitwall last described them, and the labels that people gave them.
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
    seen_at TIMESTAMPTZ,
    url VARCHAR,
    told_by VARCHAR  -- the machine whose Pitwall reported it
);

CREATE TABLE raw.machine_labels (
    machine_id VARCHAR NOT NULL,
    label VARCHAR,
    labelled_at TIMESTAMPTZ
);

-- Runs imported from another Pitwall's bundle; only their owner ships them to a lake.
CREATE TABLE raw.foreign_runs (
    run_id VARCHAR NOT NULL,
    taken_at TIMESTAMPTZ
);

-- Cached lines of the list of runs; a line is valid while `formulas` and the run's times match those it was computed from.
CREATE TABLE raw.run_reports (
    run_id VARCHAR,
    formulas VARCHAR,
    started_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    stream_tps DOUBLE,
    output_tps DOUBLE,
    typical_tps DOUBLE,
    peak_tps DOUBLE,
    tokens_per_step DOUBLE,
    acceptance_length DOUBLE,
    reason JSON,
    printed_tps DOUBLE,
    printed_lines BIGINT,
    printed_definition VARCHAR,
    acceptance_rate DOUBLE,
    tokens_per_j DOUBLE,
    gpu_power_w DOUBLE,
    server_cores DOUBLE,
    host_busy_ratio DOUBLE,
    kv_usage_peak_ratio DOUBLE,
    preemptions DOUBLE,
    gpu_memory_peak_gib DOUBLE
);

-- After how many days a finished run is deleted; the newest row is in force, null: never.
CREATE TABLE raw.retention (
    set_at TIMESTAMPTZ,
    role VARCHAR,
    keep_days INTEGER
);

-- Named views of a page: one row per version; the newest is in force.
CREATE TABLE raw.saved_views (
    page VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    written_at TIMESTAMPTZ,
    role VARCHAR,
    query VARCHAR,
    is_removed BOOLEAN
);

-- Agents on other machines of a run: the last batch stored, committed together with its samples so that none counts twice.
-- Samples carry the offset of their machine's clock; null: Pitwall's own clock.
CREATE TABLE raw.agents (
    run_id VARCHAR NOT NULL,
    agent_id VARCHAR NOT NULL,
    machine_id VARCHAR,
    host_name VARCHAR,
    number BIGINT,  -- of the last batch stored
    thinned BIGINT,  -- batches dropped because the agent's buffer was full
    seen_at TIMESTAMPTZ
);

-- The server's own latency histograms over all its requests.
CREATE TABLE raw.latency_samples (
    run_id VARCHAR,
    ts TIMESTAMPTZ,
    mono_s DOUBLE,
    definition VARCHAR,
    metric VARCHAR,
    engine_index BIGINT,
    upper_ms DOUBLE[],
    counts DOUBLE[],
    sum_ms DOUBLE
);

-- Checksums of the view definitions and of the views in place; a start rebuilds the views if either differs.
CREATE TABLE raw.view_texts (
    made_of VARCHAR,
    standing VARCHAR
);
