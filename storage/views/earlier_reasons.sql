-- Results and accuracies that an earlier Pitwall stored, sealed, bundled or shipped have sentences for reasons. Sealed files
-- are never written again, so they are read as the codes of today (docs/reasons.md); what is none of these stays as it is.
CREATE OR REPLACE MACRO earlier_reasons() AS MAP {
    'the file says null': 'file_says_null',
    'the file gives a number that cannot be': 'impossible_number',
    'no sd: the tool divides by n, and the file does not state n': 'sd_count_not_told',
    'no sd: one value has none': 'sd_of_one_value',
    'one request has no sd': 'sd_of_one_value',
    'of one phase': 'sd_of_one_phase',
    'no sd: the tool weighs requests by their tokens': 'sd_is_weighted',
    'no sd: it is of the rate over time': 'sd_is_over_time',
    'before 0.4.0 it counts chunks, not tokens: with speculation too low by about the acceptance length': 'counts_chunks',
    'its version is not stated: before 0.4.0 it counts chunks, not tokens: with speculation too low by about the acceptance length':
        'may_count_chunks',
    'of pieces of answers in its best second, not tokens: with speculation too low': 'counts_pieces',
    'stated as a range': 'stated_as_range',
    'about, as stated': 'stated_as_about',
    'no request ended with its tokens counted': 'no_request_counted',
    'no interval: items have shares of a point': 'items_have_shares',
    'no interval: the file does not state how many items were right': 'right_items_not_told',
    'no interval: the text does not state the number of items': 'item_count_not_told',
    'the file gives no share between 0 and 1': 'no_share_told',
    'more than 100 %': 'share_above_one',
    'the file does not say how many of how many': 'item_counts_not_told',
    'no item was scored': 'no_item_scored',
    'items that got no answer may count as right ones: only the result file says': 'errors_may_count_right'
};

-- A sentence with values, as [code, name, pattern], the values in the order of the pattern's groups.
CREATE OR REPLACE MACRO earlier_reason(said) AS coalesce(
    earlier_reasons()[said],
    CASE
        WHEN regexp_full_match(said, 'no sd: ± [0-9.e+-]+, of how many values is not stated')
            THEN regexp_replace(said, 'no sd: ± (.+), of how many values is not stated', 'spread_count_not_told spread=\1')
        WHEN regexp_full_match(said, '\d+ of \d+ values are there')
            THEN regexp_replace(said, '(\d+) of (\d+) values are there', 'values_missing present=\1 wanted=\2')
        WHEN regexp_full_match(said, 'limits at p95: TTFT [0-9.e+]+ ms, TPOT [0-9.e+]+ ms')
            THEN regexp_replace(said, 'limits at p95: TTFT (\S+) ms, TPOT (\S+) ms', 'limits_at_p95 ttft_ms=\1 tpot_ms=\2')
        WHEN regexp_full_match(said, 'even \d+ at once broke a limit')
            THEN regexp_replace(said, 'even (\d+) at once broke a limit', 'lowest_rung_broke users=\1')
        WHEN regexp_full_match(said, '\d+ of \d+ items got no answer: errors, not answers')
            THEN regexp_replace(said, '(\d+) of (\d+) items.*', 'items_without_answer errors=\1 items=\2')
        WHEN regexp_full_match(said, 'not scored yet: \d+ items, \d+ of them errors')
            THEN regexp_replace(said, 'not scored yet: (\d+) items, (\d+) .*', 'not_scored_yet items=\1 errors=\2')
    END,
    said
);
CREATE OR REPLACE MACRO reason_codes(said) AS
    array_to_string(list_transform(string_split(said, '; '), lambda part: earlier_reason(part)), '; ');
