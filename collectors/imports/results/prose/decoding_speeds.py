"""Tells what is called a speed of decoding, and whether it is that of one stream or of all streams together.

`decode_tps` is one stream's, `output_tps` that of all. In a series over levels of the load all its speeds are of all,
unless they fall with the level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from load_records import Result
from samples import Sample

PER_STREAM = r"(?:per[- ]|/ ?)(?:req(?:uest)?|user|stream|u)\b"
DECODE = r"\bdecod(?:e|ing|e[sd](?= (?:at|around|about|roughly|~)))\b|解码|解碼|デコード|디코드|디코딩"
ALL_STREAMS = (
    r"aggregate|\bagg\b|total|batch|concurren|parallel|users?\b|clients?\b|requests?\b|system|server|overall|combined"
    r"|(?<!best of )\ball\b"
)
OWN_STREAM = re.compile(PER_STREAM, re.IGNORECASE)
OF_ALL_STREAMS = re.compile(ALL_STREAMS, re.IGNORECASE)
_DECODE = re.compile(DECODE, re.IGNORECASE)
_OF_ONE_STREAM = re.compile(rf"{PER_STREAM}|\bsingle\b|\btg\d+\b", re.IGNORECASE)
_SPEED_IN_TABLE = re.compile(  # beside that of the prompt it is one stream's
    r"\b(?:decod(?:e|ing)|(?:token |text )?gen(?:eration)?)[ _-](?:throughput|speed|rate|tps)\b|\bgeneration_tps\b"
    r"|\b(?:decod(?:e|ing)|gen(?:eration)?) \(?(?:t(?:ok(?:en)?s?)? ?/ ?s(?:ec)?|tokens per second)(?!\w)"
    r"|(?<!\w)(?:t(?:ok(?:en)?s?)? ?/ ?s(?:ec)?|tps) \(?(?:decod(?:e|ing)|gen(?:eration)?)\b"
    r"|\b(?:token|text) generation\b|(?:^|: |, )(?:generation|decod(?:e|ing)): (?!throughput)",
    re.IGNORECASE,
)
_PROMPT_IN_TEXT = re.compile(r"\bprompt[- ]processing\b|\bprefill\b|\bpp ?\d{2,6}\b", re.IGNORECASE)
_GENERATION = re.compile(r"\b(?:token |text )?generation\b(?! (?:time|length|tokens))", re.IGNORECASE)
_PROMPT_IN_TABLE = re.compile(r"\bprompt processing\b|\bprefill\b", re.IGNORECASE)  # its time, if not its speed
_OF_ALL_IN_NAME = r"agg(?:regated?)?|total|batch(?:ed)?|all"
_DECODING_IN_NAME = re.compile(
    r"^(?!.*\b(?:agg(?:regate)?|total|batch|all)\b).*\b(?:decod(?:e|ing)|tg)\b", re.IGNORECASE
)
_ANSWER_IN_NAME = re.compile(
    rf"^(?!.*\b(?:{_OF_ALL_IN_NAME}|server|system|overall|output)\b)"
    r".*\b(?:tg|gen(?:erat(?:ion|ed?|ing))?|decod(?:e|ing)|eval)\b",
    re.IGNORECASE,
)
_SUM = re.compile(r"aggregate|\bagg\b|\btotal\b|combined|overall|throughput", re.IGNORECASE)
_SETTING_OF_ROW = re.compile(r"(?<=, )[^,:=()]{1,24}=\d{1,9}(?=[,:])")  # 'requests=90' in the name of a cell
_LINE = re.compile(r"\(line (\d{1,9})\)$")
_NUMBERS = re.compile(r"\d[\d.,]*")


def may_be_of_all_streams(text: str) -> bool:
    """Return whether a speed is called one of decoding, and not one of a single stream."""
    text = _SETTING_OF_ROW.sub("", text)
    return _DECODE.search(text) is not None and not _OF_ONE_STREAM.search(text)


def names_decoding(value_words: str) -> bool:
    """Return whether the words of a value's name state a speed of decoding, and not that of all streams: 'decode'."""
    return _DECODING_IN_NAME.search(value_words) is not None


def names_answer(value_words: str) -> bool:
    """Return whether the words of a value's name state a speed of the answer, and not that of all: 'gen', 'eval'."""
    return _ANSWER_IN_NAME.search(value_words) is not None


def metric_at_level(metric: str, name: str, concurrency: int | None) -> str:
    """Return the metric of a figure alone: a speed of decoding at several requests is that of all, if none is named."""
    is_of_all = metric == "decode_tps" and (concurrency or 1) > 1 and may_be_of_all_streams(name)
    return "output_tps" if is_of_all else metric


def with_speeds_of_table(rows: Sequence[Sample], title: str) -> list[Sample]:
    """Return the rows of a table with what it calls a decode speed beside that of the prompt as one stream's.

    In a table with levels above 1 the speed of decoding is that of all streams together, at each level, if no series
    of it falls.
    """
    results = [row for row in rows if isinstance(row, Result)]
    if any((row.concurrency or 1) > 1 for row in results):
        of_one = _of_falling_series(results, title)
        of_all = [
            row for row in results if row.metric == "decode_tps" and may_be_of_all_streams(f"{row.point} {title}")
        ]
        return _with_metric(_with_metric(rows, of_all, "output_tps"), of_one, "decode_tps")
    if not any(row.metric == "prompt_tps" or _PROMPT_IN_TABLE.search(row.point) for row in results):
        return list(rows)
    of_one = [
        row for row in results
        if row.metric == "output_tps" and _SPEED_IN_TABLE.search(row.point)
        and not OF_ALL_STREAMS.search(_SETTING_OF_ROW.sub("", row.point))
    ]  # fmt: skip
    return _with_metric(rows, of_one, "decode_tps")


def with_series_over_levels(rows: Sequence[Sample]) -> list[Sample]:
    """Return the rows of lines and sentences in which the speeds of a series over levels are all of all streams.

    A series has the same words but for its numbers, or stands on one line: 'decode: 45 tok/s at c=1, 120 at c=4'.
    """
    results = [row for row in rows if isinstance(row, Result)]
    of_all = [
        row for members in _series_of(results)
        if any((row.concurrency or 1) > 1 and not _SUM.search(row.point) for row in members)
        for row in members if row.metric == "decode_tps" and not _OF_ONE_STREAM.search(row.point)
    ]  # fmt: skip
    return _with_metric(_with_metric(rows, of_all, "output_tps"), _of_falling_series(results), "decode_tps")


def with_speeds_beside_prompt(rows: Sequence[Sample], text: str) -> list[Sample]:
    """Return the rows of lines and sentences with the speed of generation as one stream's, if the text has a prompt's.

    Of all streams is a throughput, and what has a level above 1.
    """
    if not _PROMPT_IN_TEXT.search(text):
        return list(rows)
    of_one = [
        row for row in rows
        if isinstance(row, Result) and row.metric == "output_tps" and (row.concurrency or 1) == 1
        and _GENERATION.search(row.point) and not (OF_ALL_STREAMS.search(row.point) or _SUM.search(row.point))
    ]  # fmt: skip
    return _with_metric(rows, of_one, "decode_tps")


def _series_of(rows: Sequence[Result], title: str = "") -> list[list[Result]]:
    """Return the speeds of decoding that differ in their level alone, or stand on one line.

    `title`: the words above a table, that may call them so.
    """
    series: dict[str, list[Result]] = {}
    for row in rows:
        if row.concurrency is not None and row.metric in ("decode_tps", "output_tps"):
            line = match[1] if (match := _LINE.search(row.point)) else ""
            for key in {f"line {line}", _NUMBERS.sub("#", row.point)}:
                series.setdefault(key, []).append(row)
    return [
        members for members in series.values()
        if any(may_be_of_all_streams(f"{row.point} {title}") for row in members)
    ]  # fmt: skip


def _of_falling_series(rows: Sequence[Result], title: str = "") -> list[Result]:
    """Return the rows of series that fall with the level: all streams together are not slower than one alone."""
    falling_rows: list[Result] = []
    for members in _series_of(rows, title):
        by_level = {row.concurrency or 1: row.value or 0.0 for row in members}
        speeds = [by_level[level] for level in sorted(by_level)]
        is_falling = len(speeds) == len(members) > 1 and all(low < high for high, low in pairwise(speeds))
        falling_rows += members if is_falling and not any(_SUM.search(row.point) for row in members) else []
    return falling_rows


def _with_metric(rows: Sequence[Sample], changed_rows: Sequence[Result], metric: str) -> list[Sample]:
    """Return rows with another metric for some of them, which are known by their points and statistics."""
    changed = {(row.point, row.statistic, row.value) for row in changed_rows}
    return [
        replace(row, metric=metric)
        if isinstance(row, Result) and (row.point, row.statistic, row.value) in changed
        and row.metric in ("decode_tps", "output_tps") else row
        for row in rows
    ]  # fmt: skip
