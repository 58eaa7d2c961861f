"""Published numbers of others: never ranked, each with its line in the source and any doubts about it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import streamlit as st

from commands.presets import SHIPPED, read_presets
from reference.published import Number, PublishedConfig, load_published
from reference.tables import CellItem, PublishedTable, published_tables
from reports.arms.claims import doubts
from web import markup
from web.actions import is_operator
from web.sections import PageSection
from web.theme import DASH
from web.url_state import url_expander

TITLE = "Published, not measured here"
PARAMETER = "published"
MAX_CLAIMS = 6
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
    """Numbered doubts, each listed once below its table."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def marks(self, number: Number | None) -> str:
        """Return the marks of a number's doubts; a repeated doubt keeps its number."""
        texts = doubts().get(number.id, ()) if number else ()
        numbers = [self._texts.setdefault(text, len(self._texts) + 1) for text in texts]
        return "".join(f' <sup class="pw-doubt">doubt {number}</sup>' for number in numbers)

    def below(self) -> str:
        """Return the numbered list of all marked doubts as markup; '' if there are none."""
        items = "".join(f"<li>{markup.text(text)}</li>" for text in self._texts)
        return f'<ol class="pw-muted">{items}</ol>' if items else ""


def published_section() -> PageSection:
    """Return the section of Runs with every published configuration and its headline numbers."""
    return PageSection("published", TITLE, lambda: st.html(_published_table(is_operator())))


@functools.cache
def _published_table(can_launch: bool) -> str:
    """Return the table of published configurations; cached, since they ship with Pitwall."""
    entries = [entry for entry in load_published().values() if entry.numbers]
    notes = Footnotes()
    presets = {preset.published: stem for stem, preset in read_presets([SHIPPED]).presets.items()}
    head = ["configuration", *(["preset"] if can_launch else []), "hardware", *HEADLINES, "source"]
    rows = [_row(entry, notes, presets.get(entry.id), can_launch) for entry in entries]
    return markup.table(head, rows) + notes.below()


def _row(entry: PublishedConfig, notes: Footnotes, preset: str | None, can_launch: bool) -> list[str]:
    cells = [markup.text(entry.label)]
    if can_launch:
        link = f'<a href="launch?preset={markup.text(preset)}" target="_self">launch</a>'
        cells.append(link if preset else DASH)
    cells.append(markup.text(entry.hardware))
    cells += [_titled_cell(entry.find(*metrics), notes) for metrics in HEADLINES.values()]
    return [*cells, f"<small>{markup.text(entry.source.title)}</small>"]


def _titled_cell(number: Number | None, notes: Footnotes) -> str:
    if number is None:
        return markup.number(DASH, why="the source does not say it")
    return f"{_cell(number, notes)}<br><small>{markup.text(number.title)}</small>"


def _cell(number: Number, notes: Footnotes) -> str:
    digits = f"{int(number.value):,}" if number.value.isdigit() else number.value
    value = markup.number(f"{number.bound} {digits}".strip(), number.unit_words)
    if number.definition:
        value = f'<abbr title="{markup.text(number.definition)}">{value}</abbr>'
    return f"{value} <small>line {number.line}</small>{notes.marks(number)}"


def published_group() -> None:
    """Published configurations side by side, selected by the URL or by hand; nothing is concluded from them."""
    published = load_published()
    st.subheader(TITLE)
    tables_as_published()
    requested = [key for key in st.query_params.get_all(PARAMETER) if key in published]
    selected = st.multiselect(
        "Published configurations to show beside the runs",
        [key for key, entry in published.items() if entry.numbers],
        default=requested[:MAX_CLAIMS],
        format_func=lambda key: f"{published[key].label} {DASH} {published[key].hardware}",
        max_selections=MAX_CLAIMS,
        select_all=False,
        placeholder="Others' numbers, under their own conditions",
    )
    if selected != requested:
        st.query_params[PARAMETER] = selected
    if selected:
        st.caption(
            "Machines, loads and definitions differ, so these are not ranked against each other or against the runs."
        )
        st.html(numbers_table([published[key] for key in selected]))
        with url_expander("The sources' statements about these configurations", "statements", "compare"):
            st.html(statements_table([published[key] for key in selected]))


def tables_as_published() -> None:
    """The documents' own comparison tables, each number with its line and doubts."""
    with url_expander("Comparison tables as published, with the documents' own winners", "tables", "compare"):
        st.caption("These winners hold under the documents' own conditions; Pitwall does not judge them.")
        for source_table in published_tables():
            st.markdown(f"**{markup.markdown_text(source_table.title)}** · {markup.markdown_text(source_table.source)}")
            st.html(published_table(source_table))


def published_table(source_table: PublishedTable) -> str:
    """Return one table as markup, with its doubts below."""
    notes = Footnotes()
    rows = [
        [markup.text(name), *(_shown_cell(cell, notes) for cell in row_cells)] for name, row_cells in source_table.rows
    ]
    return markup.table([markup.text(title) for title in source_table.head], rows, wraps=True) + notes.below()


def _shown_cell(cell: Sequence[CellItem], notes: Footnotes) -> str:
    if not cell:
        return _missing_value()
    cell_text = "<br>".join(markup.text(value.cell_text) + notes.marks(value.number) for value in cell)
    return f"{cell_text} <small>line {cell[0].line}</small>"


def numbers_table(entries: Sequence[PublishedConfig]) -> str:
    """Return the numbers as markup: one column per configuration, one row per metric and condition."""
    notes = Footnotes()
    rows = [["Source", *(f"<small>{markup.text(entry.source.title)}</small>" for entry in entries)]]
    rows.append(["Hardware", *(markup.text(entry.hardware) for entry in entries)])
    for title, condition in dict.fromkeys((n.title, n.condition) for entry in entries for n in entry.numbers):
        numbers_by_entry = [
            [n for n in entry.numbers if (n.title, n.condition) == (title, condition)] for entry in entries
        ]
        name = f"{markup.text(title)}<br><small>{markup.text(condition)}</small>" if condition else markup.text(title)
        cells = ["<br>".join(_cell(n, notes) for n in numbers) or _missing_value() for numbers in numbers_by_entry]
        rows.append([name, *cells])
    return markup.table(["", *(markup.text(entry.label) for entry in entries)], rows) + notes.below()


def statements_table(entries: Sequence[PublishedConfig]) -> str:
    """Return the statements as markup: one column per configuration, one row per stated field."""
    fields = dict.fromkeys(name for entry in entries for name in entry.fields)
    rows = [[markup.text(field), *(_statement_cell(entry, field) for entry in entries)] for field in fields]
    return markup.table(["", *(markup.text(entry.label) for entry in entries)], rows)


def _statement_cell(entry: PublishedConfig, field: str) -> str:
    if field not in entry.fields:
        return _missing_value()
    value, line = entry.fields[field]
    return f"{markup.text(value)} <small>line {line}</small>"


def _missing_value() -> str:
    return markup.number(DASH, why="the source does not say it")
