-- The number of runs in each stored state.
SELECT state, count(*) AS n FROM raw.runs GROUP BY state
