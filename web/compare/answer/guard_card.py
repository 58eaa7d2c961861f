"""'May I say so?': the guard's rows that are not 'same', with what was found; the others folded below."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.compare import Comparison
from analysis.guard import Row, RowCode, Standing
from web import markup
from web.compare.answer.answer_cards import Colors
from web.compare.answer.guard_words import STANDINGS, TITLES, row_words
from web.words import Names

ORDER = (Standing.MATTERS, Standing.TOLD, Standing.UNKNOWN, Standing.COMPARED, Standing.SAME)
TITLE = "May I say so?"
Found = list[tuple[Row, list[Comparison]]]


def guard_card(answers: Sequence[Comparison], names: Names, colors: Colors) -> str:
    """One list for all arms: what was found alike of several is told once, with their colours."""
    found = _grouped(answers, names)
    shown = [one for one in found if one[0].standing is not Standing.SAME]
    same = [one for one in found if one[0].standing is Standing.SAME and one[0].code not in {r.code for r, _ in shown}]
    marks = len(answers) > 1
    items = "".join(_item(row, of, names, colors, marks) for row, of in shown)
    folded = "".join(_item(row, of, names, colors, False) for row, of in same)
    more = f"<details><summary>{len(same)} more are the same</summary><ul>{folded}</ul></details>" if same else ""
    return f'<section class="pw-guard"><h3>{TITLE}</h3><ul>{items}</ul>{more}</section>'


def _grouped(answers: Sequence[Comparison], names: Names) -> Found:
    """Rows with the answers that they belong to, what matters first."""
    groups: dict[tuple[RowCode, Standing, str], tuple[Row, list[Comparison]]] = {}
    for answer in answers:
        for row in answer.rows:
            key = (row.code, row.standing, row_words(row, names))
            groups.setdefault(key, (row, []))[1].append(answer)
    return sorted(groups.values(), key=lambda one: (ORDER.index(one[0].standing), list(RowCode).index(one[0].code)))


def _item(row: Row, of: Sequence[Comparison], names: Names, colors: Colors, marks: bool) -> str:
    swatches = "".join(markup.swatch(colors[answer.pair.other.id]) for answer in of) if marks else ""
    words = markup.text(row_words(row, names))
    mark = f'<span class="pw-standing pw-is-{row.standing.value}">{STANDINGS[row.standing]}</span>'
    return f"<li>{mark}{swatches}<b>{TITLES[row.code]}</b> {words}</li>"
