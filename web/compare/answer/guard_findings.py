"""The guard's rows of several arms merged into one list, with the arms that each finding applies to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.compare_arms import ArmComparison
from analysis.guard import RowCode, RowStatus
from web.compare.answer.guard_words import row_texts
from web.words import Names

ORDER = (RowStatus.MATTERS, RowStatus.TOLD, RowStatus.UNKNOWN, RowStatus.COMPARED, RowStatus.SAME)
ArmsByText = dict[str, list[str]]  # finding -> ids of the arms it applies to


class FindingDetail(NamedTuple):
    """A finding that several arms have in common."""

    text: str
    arm_ids: tuple[str, ...]


class Finding(NamedTuple):
    """One guard row with one status, and its details by arm."""

    code: RowCode
    standing: RowStatus
    details: tuple[FindingDetail, ...]


def findings(answers: Sequence[ArmComparison], names: Names) -> list[Finding]:
    """Return one finding per row and status, the most important first."""
    groups: dict[tuple[RowCode, RowStatus], ArmsByText] = {}
    for answer in answers:
        for row in answer.rows:
            arms_by_text = groups.setdefault((row.code, row.status), {})
            for text in row_texts(row, names):
                arms_by_text.setdefault(text, []).append(answer.pair.contender.id)
    ordered_keys = sorted(groups, key=lambda group: (ORDER.index(group[1]), list(RowCode).index(group[0])))
    return [Finding(*key, _group_by_arms(groups[key])) for key in ordered_keys]


def _group_by_arms(arms_by_text: ArmsByText) -> tuple[FindingDetail, ...]:
    """Join the texts that apply to the same arms."""
    texts_by_arms: dict[tuple[str, ...], list[str]] = {}
    for text, arm_ids in arms_by_text.items():
        texts_by_arms.setdefault(tuple(arm_ids), []).append(text)
    return tuple(FindingDetail("; ".join(texts), arm_ids) for arm_ids, texts in texts_by_arms.items())
