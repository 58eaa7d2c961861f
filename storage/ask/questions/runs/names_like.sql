-- The names of runs that are one of these or numbered on from it.
SELECT name FROM raw.runs
WHERE list_contains($wanted, name) OR len(list_filter($wanted, lambda one: starts_with(name, one || ' ('))) > 0
