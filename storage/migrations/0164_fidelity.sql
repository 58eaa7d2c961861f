-- The answers of a fidelity load, one row per position.
CREATE TABLE raw.fidelity (
    run_id VARCHAR,
    load_id VARCHAR,
    ts TIMESTAMPTZ,
    part VARCHAR,
    text_kind VARCHAR,
    text_name VARCHAR,
    depth_tokens BIGINT,
    prefix_tokens BIGINT,
    prefix_hash VARCHAR,
    token_ids INTEGER[],
    logprobs DOUBLE[],
    cached_tokens BIGINT,
    text_token_id BIGINT,
    text_logprob DOUBLE
);
