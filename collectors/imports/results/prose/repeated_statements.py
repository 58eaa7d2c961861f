"""Tells which figures of running text repeat others of it: a summary's, rounded ones, those of a closing sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from collectors.imports.results.builder import MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.figure_marks import BULLET
from collectors.imports.results.prose.repeated_values import MILLISECONDS, significant_digits
from collectors.imports.results.prose.sentences import Statement
from collectors.imports.results.prose.units import UNITS
from collectors.imports.results.values import converted

LEAST_DIGITS = 3  # of an exact figure, whose words name the same thing
LEAST_DIGITS_ALONE = 4  # of one whose words name nothing
LEAST_DIGITS_OF_MEAN = 2  # of 'around 71', the mean being 71.5
MOST_OF_A_VALUE = 40  # more are counts or a timer's
_WORD = re.compile(r"[^\W_][\w.:+=-]*[^\W_]|\w")
_NAME = re.compile(r"(?=.*\d)|.*[A-Z].*[A-Z]|.+[A-Z]")  # 'RTX', '5060', 'k=3', 'vLLM'
_NO_NAMES = frozenset((*UNITS, "tl", "dr", "ttft", "tpot", "itl", "tps", "e2e", "tl;dr"))
_CONTRASTS = frozenset(  # which tell arms apart
    ("with", "without", "no", "not", "off", "old", "new", "before", "after", "baseline", "default", "stock", "cold",
     "warm", "first", "second", "other", "another", "both", "prefill", "prompt", "decode", "generation", "single",
     "batch", "idle", "loaded", "enabled", "disabled", "previous", "now")
)  # fmt: skip
_NO_WORDS = re.compile(r"(?:: value \d{1,3})? \(line \d{1,9}\)$|(?:/ ?|\b(?:per|a|each) )second\b")
_LABELLED = re.compile(r"\s*[^\s:=.!?][^:=.!?]{0,60}[:=]\s*[~≈]?\d")  # 'run 1: 45 tok/s'
_GENERATES = re.compile(r"\bgenerat(?:es|ed|ing)?\b", re.IGNORECASE)
_OUTPUT = re.compile(r"\b(?:throughput|output|aggregate|total|decod\w+)\b", re.IGNORECASE)


def repeated_statements(statements: Sequence[Statement], points: Sequence[MeasurementPoint]) -> set[int]:
    """Return the indexes of figures that repeat another one: its value, unit, level and what it speaks of.

    Of two equal ones the more certain metric stays, else the first; an approximate figure repeats the exact one.
    """
    names = [_names_in(point.name, statement) for statement, point in zip(statements, points, strict=True)]
    repeats: set[int] = set()
    for first, second in _candidates(statements):
        pair = (statements[first], statements[second])
        is_alike = (
            not {first, second} & repeats
            and pair[0].line != pair[1].line
            and _agree(points[first], points[second])
            and (names[first] <= names[second] or names[second] <= names[first])
        )
        if is_alike and (repeat := _repeat_of(pair, names[first] & names[second])) is not None:
            repeats.add((first, second)[repeat])
    return repeats


def _candidates(statements: Sequence[Statement]) -> Iterable[tuple[int, int]]:
    """Return the pairs of figures that are close to each other, by their indexes."""
    by_value: dict[tuple[str | None, float], list[int]] = {}
    for index, statement in enumerate(statements):
        if statement.value.high is None:
            unit, value = _in_base_unit(statement)
            for key in {(unit, value), (unit, float(int(value)))}:
                by_value.setdefault(key, []).append(index)
    groups = (indexes for indexes in by_value.values() if len(indexes) <= MOST_OF_A_VALUE)
    pairs = {pair for indexes in groups for pair in combinations(indexes, 2)}
    return sorted(pairs)


def _repeat_of(pair: tuple[Statement, Statement], shared_names: Collection[str]) -> int | None:
    """Return which of two figures is the repeat: 0 or 1; None for two measurements."""
    values = [_in_base_unit(statement)[1] for statement in pair]
    about = [statement.value.is_approximate for statement in pair]
    if about[0] != about[1]:
        approximate = 0 if about[0] else 1
        own, exact = pair[approximate], pair[1 - approximate]
        is_of_mean = exact.statistic in ("mean", "median") and significant_digits(own.value.low) >= LEAST_DIGITS_OF_MEAN
        is_near = is_of_mean and own.value.low >= 10 and int(values[1 - approximate]) == values[approximate]
        is_same = values[0] == values[1] or is_near
        return approximate if is_same and own.statistic in (STATED, exact.statistic) else None
    statistics = {statement.statistic for statement in pair} - {STATED}
    least_digits = LEAST_DIGITS if any(map(str.isdigit, "".join(shared_names))) else LEAST_DIGITS_ALONE
    are_items = all(BULLET.match(statement.paragraph) or _LABELLED.match(statement.paragraph) for statement in pair)
    if values[0] != values[1] or len(statistics) > 1 or are_items or significant_digits(values[0]) < least_digits:
        return None
    certainties = [_certainty(statement) for statement in pair]
    metrics = {statement.metric_name.metric for statement in pair if _certainty(statement)}
    return None if len(metrics) > 1 else int(certainties[0] >= certainties[1])


def _certainty(statement: Statement) -> int:
    """Return how certain the metric of a figure is: 'generates 45 tok/s' is not more so than 'hits 45 tok/s'."""
    is_of_verb = statement.metric_name.metric == "output_tps" and _GENERATES.search(statement.words) is not None
    is_of_verb = is_of_verb and _OUTPUT.search(statement.words) is None
    return 0 if is_of_verb or statement.metric_name.metric == STATED else 1


def _agree(point: MeasurementPoint, other: MeasurementPoint) -> bool:
    """Return whether two points state no different levels, lengths or depths."""
    return all(None in pair or pair[0] == pair[1] for pair in zip(point[1:], other[1:], strict=True))


def _in_base_unit(statement: Statement) -> tuple[str | None, float]:
    unit, value = statement.value.unit, statement.value.low
    return ("ms", converted(value, MILLISECONDS[unit])) if unit in MILLISECONDS else (unit, value)


def _names_in(name: str, statement: Statement) -> frozenset[str]:
    """Return the names in the words of a figure, and the words that tell arms apart; its own number is none."""
    names = set()
    for word in _WORD.findall(_NO_WORDS.sub("", name).replace(",", "")):
        lowered = word.lower()
        is_name = _NAME.match(word) is not None and lowered not in _NO_NAMES and not _is_number(word, statement)
        if lowered in _CONTRASTS or is_name:
            names.add(lowered)
    return frozenset(names)


def _is_number(word: str, statement: Statement) -> bool:
    try:
        return float(word) == statement.value.low
    except ValueError:
        return False
