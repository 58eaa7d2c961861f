"""The guard's rows of several arms as one list: a thing is named once, with what was found of which arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.comparison.compare import Comparison
from analysis.guard import RowCode, Standing
from web.compare.answer.guard_words import row_parts
from web.words import Names

ORDER = (Standing.MATTERS, Standing.TOLD, Standing.UNKNOWN, Standing.COMPARED, Standing.SAME)
Parts = dict[str, list[str]]  # what was found -> the arms of which it was, by id


class Found(NamedTuple):
    """What was found alike of some arms."""

    words: str
    arm_ids: tuple[str, ...]


class Finding(NamedTuple):
    """One thing in which arms stand alike to the baseline, with what was found of each."""

    code: RowCode
    standing: Standing
    found: tuple[Found, ...]


def findings(answers: Sequence[Comparison], names: Names) -> list[Finding]:
    """One per row and standing, what matters first."""
    groups: dict[tuple[RowCode, Standing], Parts] = {}
    for answer in answers:
        for row in answer.rows:
            parts = groups.setdefault((row.code, row.standing), {})
            for words in row_parts(row, names):
                parts.setdefault(words, []).append(answer.pair.other.id)
    in_order = sorted(groups, key=lambda one: (ORDER.index(one[1]), list(RowCode).index(one[0])))
    return [Finding(*key, _by_arms(groups[key])) for key in in_order]


def _by_arms(parts: Parts) -> tuple[Found, ...]:
    """Parts of the same arms together."""
    joined: dict[tuple[str, ...], list[str]] = {}
    for words, arm_ids in parts.items():
        joined.setdefault(tuple(arm_ids), []).append(words)
    return tuple(Found("; ".join(words), arm_ids) for arm_ids, words in joined.items())
