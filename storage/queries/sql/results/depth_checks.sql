-- The checks of the runs' loads at depths, without their exchanges.
SELECT * EXCLUDE (exchange) FROM checks_of($run_ids) WHERE depth_tokens IS NOT NULL ORDER BY ts
