"""The guard's card: the rows that decide, with their findings; the others are folded."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.compare_arms import ArmComparison
from analysis.guard import RowCode, RowStatus
from web import markup
from web.compare.answer.guard_findings import Finding, FindingDetail, findings
from web.compare.answer.guard_words import STANDING_LABELS, TITLES
from web.compare.answer.overview import Colors
from web.words import Names

TITLE = "Is this a fair comparison?"
MOST_UNKNOWN = 4  # rows beside a refusal: more of them are folded, since none of them is its reason
NEVER_FOLDED = RowCode.QUALITY  # may state what was measured of the answers


def guard_card(answers: Sequence[ArmComparison], names: Names, colors: Colors) -> str:
    """Return one list for all arms as markup: each row once, findings marked with the colours of their arms."""
    merged = findings(answers, names)
    differing = [row for row in merged if row.standing is not RowStatus.SAME]
    same = [row for row in merged if row.standing is RowStatus.SAME and row.code not in {row.code for row in differing}]
    unknown = [row for row in differing if row.standing is RowStatus.UNKNOWN and row.code is not NEVER_FOLDED]
    if any(answer.is_ranked for answer in answers) or len(unknown) <= MOST_UNKNOWN:
        unknown = []
    marks = colors if len(answers) > 1 else {}
    items = "".join(_item(row, marks) for row in differing if row not in unknown)
    folded = _folded(unknown, "not known", marks) + _folded(same, "the same", {})
    return f'<section class="pw-guard"><h3>{TITLE}</h3><ul>{items}</ul>{folded}</section>'


def _folded(rows: Sequence[Finding], what: str, marks: Colors) -> str:
    """'24 more are not known', which opens the rows; '' without rows."""
    if not rows:
        return ""
    verb = "is" if len(rows) == 1 else "are"
    items = "".join(_item(row, marks) for row in rows)
    return f"<details><summary>{len(rows)} more {verb} {what}</summary><ul>{items}</ul></details>"


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
