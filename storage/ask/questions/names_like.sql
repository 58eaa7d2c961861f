-- The names of runs that are this one or numbered on from it.
SELECT name FROM raw.runs WHERE name = $wanted OR starts_with(name, $wanted || ' (')
