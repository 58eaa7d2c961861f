-- The number of finished or failed runs that pass the filters.
SELECT count(*) AS n FROM {found}
