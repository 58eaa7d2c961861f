"""Tables for publication as Markdown, HTML, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from analysis.metrics.registry import MetricId
from reports.arms.published_table import Difference, PublicationTable, PublishedCell, PublishedRow
from web import markup
from web.metric_words import metric_text, metric_unit
from web.publish.markdown_words import plain, table
from web.theme import DASH

NOT_RANKED = "as seen"
GRID_TITLES = {
    "prompt_tps": "Prefill speed by point, tok/s",
    "decode_tps": "Decode speed by point, tok/s",
    "output_tps": "Output speed by point, tok/s",
    "ttft_ms": "Time to first token by point, ms",
    "request_tps": "Request rate by point, requests/s",
}
NOTE = (
    "Differences are from the first column, with 95 % intervals if the runs may be ranked; 'as seen' marks those that "
    "nothing tests. The intervals hold row by row, not jointly."
)
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    character: f"\\{character}" for character in "&%$#_{}"
}


class DifferenceStyle(StrEnum):
    """Forms of a difference: 1.31x, or +31 %."""

    RATIO = "ratio"
    PERCENT = "percent"


def title_of(published: PublicationTable) -> str:
    """Return the table's title: 'Results', or that of a grid's metric."""
    return GRID_TITLES.get(published.title, published.title)


def as_markdown(tables: Sequence[PublicationTable], style: DifferenceStyle) -> str:
    """Return the tables with a heading each, and the note on differences."""
    blocks = [
        f"### {plain(title_of(published))}\n\n"
        + table(["", *map(plain, published.arms)], _cells(published, style, plain), numeric=True)
        for published in tables
    ]
    return "\n\n".join([*blocks, plain(NOTE)]) + "\n" if blocks else ""


def as_html(tables: Sequence[PublicationTable], style: DifferenceStyle) -> str:
    """Return the tables as markup."""
    blocks = [
        f"<h3>{markup.text(title_of(published))}</h3>"
        + markup.table(["", *map(markup.text, published.arms)], _cells(published, style, markup.text), is_numeric=True)
        for published in tables
    ]
    return "".join(blocks) + (f'<p class="pw-muted">{markup.text(NOTE)}</p>' if blocks else "")


def as_csv_text(tables: Sequence[PublicationTable], style: DifferenceStyle) -> str:
    """Return one row per table, row and arm, with every digit; `style` has no effect on numbers."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(
        ["table", "row", "unit", "arm", "value", "sd", "difference", "difference_unit", "low", "high", "is_ranked"]
    )
    for published in tables:
        for row in published.rows:
            for arm, cell in zip(published.arms, row.cells, strict=True):
                difference = cell.difference
                writer.writerow(
                    [title_of(published), row.title, row.unit, arm, _exact(cell.value), _exact(cell.sd)]
                    + (
                        [
                            _exact(difference.value),
                            "points" if difference.is_points else "ratio",
                            _exact(difference.low),
                            _exact(difference.high),
                            str(difference.is_ranked).lower(),
                        ]
                        if difference
                        else [""] * 5
                    )
                )
    return sink.getvalue()


def as_latex(tables: Sequence[PublicationTable], style: DifferenceStyle) -> str:
    """Return one tabular per table."""
    return "\n\n".join(_tabular(published, style) for published in tables) + "\n" if tables else ""


def _tabular(published: PublicationTable, style: DifferenceStyle) -> str:
    rows = [[latex_text(""), *map(latex_text, published.arms)], *_cells(published, style, latex_text)]
    lines = [" & ".join(row) + r" \\" for row in rows]
    columns = "l" + "r" * len(published.arms)
    body = "\n".join([lines[0], r"\hline", *lines[1:]])
    return f"% {title_of(published)}\n\\begin{{tabular}}{{{columns}}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}"


def latex_text(text: object) -> str:
    """Escape a foreign text for LaTeX."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(str(text).split()))
    return re.sub("×", r"$\\times$", re.sub("±", r"$\\pm$", escaped))


FORMATS: Mapping[str, Callable[[Sequence[PublicationTable], DifferenceStyle], str]] = {
    "markdown": as_markdown,
    "html": as_html,
    "csv": as_csv_text,
    "latex": as_latex,
}


def _cells(published: PublicationTable, style: DifferenceStyle, escape: Callable[[object], str]) -> list[list[str]]:
    return [
        [escape(_row_title(row)), *(escape(cell_text(row.metric, cell, style)) for cell in row.cells)]
        for row in published.rows
    ]


def _row_title(row: PublishedRow) -> str:
    unit = metric_unit(row.metric) if row.metric else row.unit
    words = row.title.lower().replace(",", "").split()  # 'requests' is the unit of 'Full-length requests'
    return row.title if not unit or unit in words else f"{row.title}, {unit}"


def cell_text(metric: MetricId | None, cell: PublishedCell, style: DifferenceStyle) -> str:
    """Return '312 (1.31×, 1.25 to 1.37)' or '84.55 ± 0.21 (-0.4 points, as seen)'; a grid keeps two decimals."""
    if cell.value is None:
        return DASH
    value = metric_text(metric, cell.value) if metric else f"{cell.value:,.2f}"
    spread = f" ± {cell.sd:,.2f}" if cell.sd is not None else ""
    return f"{value}{spread}{_difference_text(cell.difference, style)}"


def _difference_text(difference: Difference | None, style: DifferenceStyle) -> str:
    if difference is None:
        return ""
    parts = [_number(difference.value, difference, style)]
    if difference.low is not None and difference.high is not None:
        parts.append(f"{_number(difference.low, difference, style)} to {_number(difference.high, difference, style)}")
    parts += [] if difference.is_ranked else [NOT_RANKED]
    return f" ({', '.join(parts)})"


def _number(value: float, difference: Difference, style: DifferenceStyle) -> str:
    if difference.is_points:
        return f"{value:+.1f} points"
    return f"{value:.2f}×" if style is DifferenceStyle.RATIO else f"{100 * (value - 1):+.1f} %"


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)
