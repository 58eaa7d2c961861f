"""The guard's card: the rows that are not 'same', with their findings; the others are folded."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.compare_arms import ArmComparison
from analysis.guard import RowStatus
from web import markup
from web.compare.answer.guard_findings import Finding, FindingDetail, findings
from web.compare.answer.guard_words import STANDING_LABELS, TITLES
from web.compare.answer.overview import Colors
from web.words import Names

TITLE = "Is this a fair comparison?"


def guard_card(answers: Sequence[ArmComparison], names: Names, colors: Colors) -> str:
    """Return one list for all arms as markup: each row once, findings marked with the colours of their arms."""
    merged = findings(answers, names)
    differing = [row for row in merged if row.standing is not RowStatus.SAME]
    same = [row for row in merged if row.standing is RowStatus.SAME and row.code not in {row.code for row in differing}]
    marks = colors if len(answers) > 1 else {}
    items = "".join(_item(row, marks) for row in differing)
    folded = "".join(_item(row, {}) for row in same)
    folded_section = (
        f"<details><summary>{len(same)} more are the same</summary><ul>{folded}</ul></details>" if same else ""
    )
    return f'<section class="pw-guard"><h3>{TITLE}</h3><ul>{items}</ul>{folded_section}</section>'


def _item(finding: Finding, marks: Colors) -> str:
    badge = f'<span class="pw-standing pw-is-{finding.standing.value}">{STANDING_LABELS[finding.standing]}</span>'
    title = f"<b>{TITLES[finding.code]}</b>"
    if len(finding.details) == 1:
        (detail,) = finding.details
        return f"<li>{badge}{_swatches(detail, marks)}{title} {_words(detail)}</li>"
    items = "".join(f"<li>{_swatches(detail, marks)}{_words(detail)}</li>" for detail in finding.details)
    return f"<li>{badge}{title}<ul>{items}</ul></li>"


def _swatches(detail: FindingDetail, marks: Colors) -> str:
    return "".join(markup.swatch(marks[arm_id]) for arm_id in detail.arm_ids if arm_id in marks)


def _words(detail: FindingDetail) -> str:
    return markup.text(detail.text)
