-- The runs whose name or id contains all these lower-case words.
SELECT id FROM raw.runs WHERE list_bool_and([contains(lower(concat_ws(' ', id, name)), word) FOR word IN $words])
