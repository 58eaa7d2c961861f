"""Small pieces of HTML for the pages; every text from outside is escaped by `text` first."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

from collectors.logs.log_view import ViewLine
from web.theme import DASH, byte_size, run_color

MOST_UNKNOWN = 8  # titles that are listed openly; more are folded

# Endings of the names of settings and log facts, and their units.
UNITS = {"_tokens": "tokens", "_gib": "GiB", "_gb": "GB", "_blocks": "blocks", "_s": "s"}


def text(value: object) -> str:
    """Escape any value for HTML, quotes included."""
    return escape(str(value), quote=True)


def markdown_text(text_value: str) -> str:
    """Escape a text from outside for Streamlit's Markdown."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()#+-.!|<>~$:" else c for c in text_value)


def swatch(color: int) -> str:
    """The run's colour as a small square, in the light and the dark theme."""
    return f'<span class="pw-swatch" aria-hidden="true" style="background:{run_css_color(color)}"></span>'


def run_css_color(color: int) -> str:
    """The run's colour for CSS; the browser picks that of its theme."""
    return f"light-dark({run_color(color, 'light')}, {run_color(color, 'dark')})"


def chips(labels: Iterable[str]) -> str:
    """A small tag for each label; labels are escaped here."""
    return "".join(f'<span class="pw-chip">{text(label)}</span>' for label in labels)


def run_link(page: str, run_ids: Sequence[str]) -> str:
    """The URL of a page for these runs: 'compare?run=a&run=b'."""
    return f"{page}?{urlencode([('run', run_id) for run_id in run_ids])}"


def named_run_link(run_id: str, name: str) -> str:
    """The URL of a run's page with its name behind '#', which a table's link column shows."""
    return f"{run_link('run', [run_id])}#{name.replace('%', '%25').replace('+', '%2B')}"


def live_link(run_ids: Sequence[str]) -> str:
    """A link to the Live page of one or several runs."""
    label = "Watch side by side" if len(run_ids) > 1 else "Live view"
    return f'<a href="{run_link("live", run_ids)}" target="_self">{label}</a>'


def number(value: str, unit: str = "", why: str | None = None) -> str:
    """A number with its unit in small type; an unknown one is a dash that gives the reason on hover."""
    if value == DASH and why:
        return hint(DASH, why)
    return f"{text(value)} <small>{text(unit)}</small>" if unit and value != DASH else text(value)


def unmeasured(cell: str) -> str:
    """A number that was not measured, grey and hatched; the text beside it must say so too."""
    return f'<span class="pw-apart">{cell}</span>'


def hint(term: str, meaning: str | None) -> str:
    """A term that explains itself on hover."""
    return f'<abbr title="{text(meaning)}">{text(term)}</abbr>' if meaning else text(term)


def field(key: str) -> str:
    """The name of a configuration field; flags without a field of their own are 'other flags'."""
    return text("other flags" if key == "unknown_flags" else key)


def setting(key: str, value: object) -> str:
    """A configured value as a person writes it: with the unit that its name ends with, lists separated by spaces."""
    if value is None:
        return '<span class="pw-muted">not stated</span>'
    if isinstance(value, list):
        return text(" ".join(str(item) for item in value))
    if key.endswith("bytes"):
        return text(byte_size(float(str(value))))
    unit = next((unit for ending, unit in UNITS.items() if key.endswith(ending)), None)
    if unit is None or isinstance(value, bool) or not isinstance(value, int | float):
        return text(value)
    return text(f"{value:,}\u00a0{unit}" if isinstance(value, int) else f"{value:,.4g}\u00a0{unit}")


def colored_name(name: str, color: int) -> str:
    """A name with a colour square."""
    return f'{swatch(color)}<span class="pw-name">{text(name)}</span>'


def tiles(cells: Iterable[tuple[str, str]], is_lead: bool = False) -> str:
    """Large numbers with small labels, and still larger ones of the lead; `cells`: label and value, both markup."""
    boxes = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in cells)
    return f'<dl class="pw-tiles{" pw-lead-tiles" * is_lead}">{boxes}</dl>'


def unknown_numbers(missing: Iterable[tuple[str, str | None]]) -> str:
    """'Not known: Steps per second, Tokens per step (the log has no step counter).'; many are folded, none is ''.

    missing: pairs of title and reason. Commas inside titles are removed, since commas separate titles.
    """
    by_reason: dict[str, list[str]] = {}
    for title, reason in missing:
        by_reason.setdefault(reason or "no reason given", []).append(title.replace(", ", " "))
    reasons = text("; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in by_reason.items()))
    count = sum(map(len, by_reason.values()))
    if count > MOST_UNKNOWN:
        return (
            f'<details class="pw-unknown"><summary>{count} numbers are not known</summary><p>{reasons}.</p></details>'
        )
    return f'<p class="pw-unknown">Not known: {reasons}.</p>' if reasons else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], wraps: bool = False, is_numeric: bool = False) -> str:
    """A table whose heads and cells are markup; the first column names the row.

    is_numeric: cells are right-aligned and do not wrap. wraps: texts wrap. A table that is too wide scrolls sideways.
    """
    heads = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join(_row(*row) for row in rows)
    css_class = "pw-table" + " pw-wraps" * wraps + " pw-numeric" * is_numeric
    columns = f' style="--pw-columns:{len(head) - 1}"' if is_numeric else ""  # each has room for a number
    return _wrapped(f'<table class="{css_class}"{columns}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>')


def _wrapped(table: str) -> str:
    return f'<div class="pw-table-wrap" tabindex="0" role="region" aria-label="table">{table}</div>'


def preformatted(content: str, label: str) -> str:
    """Text with its line breaks and spaces; if too wide it scrolls sideways, by keyboard too."""
    return f'<pre class="pw-pre" tabindex="0" role="region" aria-label="{text(label)}">{text(content)}</pre>'


def _row(name: str, *cells: str) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def stacked_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that on a phone stacks each row's cells with their heads; ARIA roles keep it a table there."""
    heads = "".join(f'<th scope="col" role="columnheader">{title}</th>' for title in head)
    body = "".join(_stacked_row(head, *row) for row in rows)
    return _wrapped(
        f'<table class="pw-table pw-stacks" role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table>'
    )


def _stacked_row(head: Sequence[str], name: str, *cells: str) -> str:
    """Empty cells take no line (pitwall.css)."""
    data_cells = "".join(
        f'<td role="cell" data-head="{title}">{cell}</td>' for title, cell in zip(head[1:], cells, strict=True)
    )
    return f'<tr role="row"><th scope="row" role="rowheader">{name}</th>{data_cells}</tr>'


def log_lines(lines: Iterable[ViewLine], label: str = "server log") -> str:
    """Log lines with their marks, as the log view returns them. label: the name that screen readers say."""
    spans = (
        f'<div class="pw-mark-{text(row.get("kind") or "none")}">{text(row["text"])}</div>' for row in lines
    )  # fmt: skip
    return f'<div class="pw-log" tabindex="0" role="log" aria-label="{text(label)}">{"".join(spans)}</div>'


def sparkline(values: Sequence[float | None], color: str, width: int = 220, height: int = 34) -> str:
    """A small line chart as an image, since Streamlit removes inline SVG; None is drawn as a gap."""
    known_values = [v for v in values if v is not None]
    if len(known_values) < 2:
        return f'<div style="height:{height}px"></div>'
    top, step = max(known_values) or 1.0, width / (len(values) - 1)
    parts, pen = [], "M"
    for i, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        parts.append(f"{pen}{i * step:.1f} {height - 2 - value / top * (height - 4):.1f}")
        pen = "L"
    path = f'<path d="{" ".join(parts)}" fill="none" stroke="{color}" stroke-width="1.6"/>'
    image = svg_url(f'viewBox="0 0 {width} {height}" preserveAspectRatio="none"', path)
    return f'<img src="{image}" alt="the last two minutes" style="width:100%;height:{height}px">'


def svg_url(attributes: str, body: str) -> str:
    """An SVG drawing as a data URL."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{body}</svg>'
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
