-- The items that two of these loads share, by task, filter and item: right in both, in one, in neither. Items without a
-- score are errors and not paired; an item that a load has several times is paired copy by copy. `first_right` and
-- `first_n` are over all scored items of the first load; `fractions` counts scores other than 0 and 1.
WITH items AS (
    SELECT
        load_id, task, filter, item_hash, score, score = 1 AS is_right,
        row_number() OVER (PARTITION BY load_id, task, filter, item_hash ORDER BY item_id) AS copy,
        (count_if(score = 1) OVER of_load)::BIGINT AS right_items, count(*) OVER of_load AS n,
        (count_if(score NOT IN (0, 1)) OVER of_load)::BIGINT AS fractions
    FROM accuracy_items_of($run_ids)
    WHERE list_contains($load_ids, load_id) AND score IS NOT NULL
    WINDOW of_load AS (PARTITION BY load_id, task, filter)
)
SELECT
    a.load_id AS first_load, b.load_id AS second_load, task, filter,
    count_if(a.is_right AND b.is_right)::BIGINT AS both, count_if(a.is_right AND NOT b.is_right)::BIGINT AS lost,
    count_if(NOT a.is_right AND b.is_right)::BIGINT AS won,
    count_if(NOT a.is_right AND NOT b.is_right)::BIGINT AS neither,
    any_value(a.right_items) AS first_right, any_value(a.n) AS first_n,
    any_value(b.right_items) AS second_right, any_value(b.n) AS second_n,
    any_value(a.fractions + b.fractions) AS fractions
FROM items AS a JOIN items AS b USING (task, filter, item_hash, copy)
WHERE a.load_id <> b.load_id
GROUP BY ALL
