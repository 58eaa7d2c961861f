"""What others published, shown as that: never ranked, each number with its line, a doubtful one with what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import streamlit as st

from commands.presets import SHIPPED, read_presets
from reference.published import Number, Published, load_published
from reference.tables import PublishedTable, Shown, published_tables
from reports.arms.claims import doubts
from web import markup
from web.actions import is_operator
from web.kept import fold
from web.theme import DASH

TITLE = "Published, not measured here"
PARAMETER = "published"
MOST = 6
SPEED = (
    "decode_tps_peak",
    "decode_tps_single",
    "completion_tps_avg",
    "decode_tps_benchmarks",
    "decode_tps",
    "tg_tps",
    "tg_tps_high",
)
ACCEPTANCE = ("accept_length_peak", "accept_length_typical_high", "accept_rate_peak", "accept_rate_mean")
HEADLINES = {"decode speed": SPEED, "acceptance": ACCEPTANCE, "KV capacity": ("kv_capacity_tokens",)}


class Footnotes:
    """Doubts by number, each said once below its table."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def marks(self, number: Number | None) -> str:
        """The marks of its doubts, for behind a number; a doubt that was met before keeps its number."""
        texts = doubts().get(number.id, ()) if number else ()
        numbers = [self._texts.setdefault(text, len(self._texts) + 1) for text in texts]
        return "".join(f' <sup class="pw-doubt">doubt {number}</sup>' for number in numbers)

    def below(self) -> str:
        """All doubts that were marked, numbered, as markup; '' where there are none."""
        items = "".join(f"<li>{markup.text(text)}</li>" for text in self._texts)
        return f'<ol class="pw-muted">{items}</ol>' if items else ""


def published_section() -> None:
    """Every published configuration with its headline numbers, folded away below the runs."""
    count, table = _published_table(is_operator())
    with fold(f"{TITLE}: {count} configurations", "published", "runs"):
        st.html(table)


@functools.cache
def _published_table(can_launch: bool) -> tuple[int, str]:
    """How many there are, and their table; made once, for what is published is shipped."""
    published = [one for one in load_published().values() if one.numbers]
    notes = Footnotes()
    presets = {preset.published: stem for stem, preset in read_presets([SHIPPED]).presets.items()}
    head = ["configuration", *(["preset"] if can_launch else []), "hardware", *HEADLINES, "source"]
    rows = [_row(one, notes, presets.get(one.id), can_launch) for one in published]
    return len(published), markup.table(head, rows) + notes.below()


def _row(one: Published, notes: Footnotes, preset: str | None, can_launch: bool) -> list[str]:
    cells = [markup.text(one.label)]
    if can_launch:
        link = f'<a href="launch?preset={markup.text(preset)}" target="_self">launch it</a>'
        cells.append(link if preset else DASH)
    cells.append(markup.text(one.hardware))
    cells += [_named(one.find(*metrics), notes) for metrics in HEADLINES.values()]
    return [*cells, f"<small>{markup.text(one.source.title)}</small>"]


def _named(number: Number | None, notes: Footnotes) -> str:
    if number is None:
        return markup.number(DASH, why="the source does not say it")
    return f"{_cell(number, notes)}<br><small>{markup.text(number.title)}</small>"


def _cell(number: Number, notes: Footnotes) -> str:
    digits = f"{int(number.value):,}" if number.value.isdigit() else number.value
    shown = markup.number(f"{number.bound} {digits}".strip(), number.unit_words)
    if number.definition:
        shown = f'<abbr title="{markup.text(number.definition)}">{shown}</abbr>'
    return f"{shown} <small>line {number.line}</small>{notes.marks(number)}"


def published_group() -> None:
    """Published configurations beside each other, chosen by the address or by hand; nothing is concluded from them."""
    published = load_published()
    st.subheader(TITLE)
    tables_as_published()
    asked = [key for key in st.query_params.get_all(PARAMETER) if key in published]
    chosen = st.multiselect(
        "Published configurations to read beside the runs",
        [key for key, one in published.items() if one.numbers],
        default=asked[:MOST],
        format_func=lambda key: f"{published[key].label} {DASH} {published[key].hardware}",
        max_selections=MOST,
        placeholder="Others' numbers, under their own conditions",
    )
    if chosen != asked:
        st.query_params[PARAMETER] = chosen
    if chosen:
        st.caption(
            "Other machines, other loads, other definitions: these are not ranked against each other or the runs."
        )
        st.html(numbers_table([published[key] for key in chosen]))
        with fold("What the sources state of these configurations", "statements", "compare"):
            st.html(statements_table([published[key] for key in chosen]))


def tables_as_published() -> None:
    """The tables by which the documents compare and choose, each number with its line and its doubts."""
    with fold("Tables as published: what the documents compare, and what they call best", "tables", "compare"):
        st.caption("The documents' own winners, under their own conditions; Pitwall judges none of them.")
        for one in published_tables():
            st.markdown(f"**{markup.markdown_text(one.title)}** · {markup.markdown_text(one.source)}")
            st.html(published_table(one))


def published_table(one: PublishedTable) -> str:
    """One table as markup, its doubts below it."""
    notes = Footnotes()
    rows = [[markup.text(name), *(_shown_cell(cell, notes) for cell in cells)] for name, cells in one.rows]
    return markup.table([markup.text(word) for word in one.head], rows, wraps=True) + notes.below()


def _shown_cell(cell: Sequence[Shown], notes: Footnotes) -> str:
    if not cell:
        return _unsaid()
    words = "<br>".join(markup.text(one.words) + notes.marks(one.number) for one in cell)
    return f"{words} <small>line {cell[0].line}</small>"


def numbers_table(chosen: Sequence[Published]) -> str:
    """One column a configuration, one row a metric under its condition."""
    notes = Footnotes()
    rows = [["Source", *(f"<small>{markup.text(one.source.title)}</small>" for one in chosen)]]
    rows.append(["Hardware", *(markup.text(one.hardware) for one in chosen)])
    for title, condition in dict.fromkeys((n.title, n.condition) for one in chosen for n in one.numbers):
        said = [[n for n in one.numbers if (n.title, n.condition) == (title, condition)] for one in chosen]
        name = f"{markup.text(title)}<br><small>{markup.text(condition)}</small>" if condition else markup.text(title)
        cells = ["<br>".join(_cell(n, notes) for n in numbers) or _unsaid() for numbers in said]
        rows.append([name, *cells])
    return markup.table(["", *(markup.text(one.label) for one in chosen)], rows) + notes.below()


def statements_table(chosen: Sequence[Published]) -> str:
    """One column a configuration, one row a field that any of the sources states."""
    fields = dict.fromkeys(name for one in chosen for name in one.fields)
    rows = [[markup.text(field), *(_stated(one, field) for one in chosen)] for field in fields]
    return markup.table(["", *(markup.text(one.label) for one in chosen)], rows)


def _stated(one: Published, field: str) -> str:
    if field not in one.fields:
        return _unsaid()
    value, line = one.fields[field]
    return f"{markup.text(value)} <small>line {line}</small>"


def _unsaid() -> str:
    return markup.number(DASH, why="the source does not say it")
