"""'May I say so?': the guard's rows that are not 'same', with what was found; the others folded below."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.compare import Comparison
from analysis.guard import Standing
from web import markup
from web.compare.answer.answer_cards import Colors
from web.compare.answer.guard_findings import Finding, Found, findings
from web.compare.answer.guard_words import STANDINGS, TITLES
from web.words import Names

TITLE = "May I say so?"


def guard_card(answers: Sequence[Comparison], names: Names, colors: Colors) -> str:
    """One list for all arms: a thing is named once, what was found of some arms has their colours."""
    rows = findings(answers, names)
    shown = [one for one in rows if one.standing is not Standing.SAME]
    same = [one for one in rows if one.standing is Standing.SAME and one.code not in {other.code for other in shown}]
    marks = colors if len(answers) > 1 else {}
    items = "".join(_item(one, marks) for one in shown)
    folded = "".join(_item(one, {}) for one in same)
    more = f"<details><summary>{len(same)} more are the same</summary><ul>{folded}</ul></details>" if same else ""
    return f'<section class="pw-guard"><h3>{TITLE}</h3><ul>{items}</ul>{more}</section>'


def _item(row: Finding, marks: Colors) -> str:
    mark = f'<span class="pw-standing pw-is-{row.standing.value}">{STANDINGS[row.standing]}</span>'
    if len(row.found) == 1:
        return f"<li>{mark}{_swatches(row.found[0], marks)}<b>{TITLES[row.code]}</b> {_words(row.found[0])}</li>"
    each = "".join(f"<li>{_swatches(one, marks)}{_words(one)}</li>" for one in row.found)
    return f"<li>{mark}<b>{TITLES[row.code]}</b><ul>{each}</ul></li>"


def _swatches(found: Found, marks: Colors) -> str:
    return "".join(markup.swatch(marks[arm_id]) for arm_id in found.arm_ids if arm_id in marks)


def _words(found: Found) -> str:
    return markup.text(found.words)
