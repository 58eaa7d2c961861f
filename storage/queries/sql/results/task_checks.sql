-- The repeats of the runs' agent tasks, without their facts.
SELECT * EXCLUDE (exchange) FROM checks_of($run_ids) WHERE suite = 'agent-task' ORDER BY ts, repeat
