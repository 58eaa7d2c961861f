-- The names of runs that equal one of these names or extend it by a number.
SELECT name FROM raw.runs
WHERE list_contains($wanted, name) OR len(list_filter($wanted, lambda one: starts_with(name, one || ' ('))) > 0
