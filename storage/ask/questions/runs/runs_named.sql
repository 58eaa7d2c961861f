-- The runs whose name or id has all these words, which are in lower case.
SELECT id FROM raw.runs WHERE list_bool_and([contains(lower(concat_ws(' ', id, name)), word) FOR word IN $words])
