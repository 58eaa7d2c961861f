-- How many runs that have ended the filters let through.
SELECT count(*) AS n FROM {found}
