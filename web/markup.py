"""Small pieces of HTML for the pages; every text that came from outside goes through `text` first."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

from collectors.logs.log_view import ViewLine
from web.theme import DASH, byte_size, run_color

MOST_UNKNOWN = 8  # titles that are named in full; more are folded


def text(value: object) -> str:
    """Any text as text: nothing in it is ever markup."""
    return escape(str(value), quote=True)


def markdown_text(words: str) -> str:
    """Foreign words where Streamlit reads markdown: nothing in them is markup."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()#+-.!|<>~$:" else c for c in words)


def swatch(color: int) -> str:
    """The run's colour as a small square, right on both grounds."""
    return f'<span class="pw-swatch" aria-hidden="true" style="background:{run_css_color(color)}"></span>'


def run_css_color(color: int) -> str:
    """The run's colour for CSS; the browser takes the one of its ground."""
    return f"light-dark({run_color(color, 'light')}, {run_color(color, 'dark')})"


def chips(words: Iterable[str]) -> str:
    """A small label for each of the words, which need not be markup yet."""
    return "".join(f'<span class="pw-chip">{text(word)}</span>' for word in words)


def run_link(page: str, run_ids: Sequence[str]) -> str:
    """The address of a page for these runs: '/compare?run=a&run=b'."""
    return f"{page}?{urlencode([('run', run_id) for run_id in run_ids])}"


def live_link(run_ids: Sequence[str]) -> str:
    """Where these runs, or the one there is, are watched."""
    words = "Watch side by side" if len(run_ids) > 1 else "Live view"
    return f'<a href="{run_link("live", run_ids)}" target="_self">{words}</a>'


def number(value: str, unit: str = "", why: str | None = None) -> str:
    """A number with its unit small beside it; a dash says on hover why it is one."""
    if value == DASH and why:
        return hint(DASH, why)
    return f"{text(value)} <small>{text(unit)}</small>" if unit and value != DASH else text(value)


def set_apart(shown: str) -> str:
    """A number that is nobody's measurement, grey and hatched; the words beside it must say so, too."""
    return f'<span class="pw-apart">{shown}</span>'


def hint(word: str, meaning: str | None) -> str:
    """A word that says on hover what it means."""
    return f'<abbr title="{text(meaning)}">{text(word)}</abbr>' if meaning else text(word)


def field(key: str) -> str:
    """The name of a configured field; flags that no field is made for are the other ones."""
    return text("other flags" if key == "unknown_flags" else key)


def setting(key: str, value: object) -> str:
    """A configured value as a person writes it: sizes in binary units, the words of a list one after the other."""
    if value is None:
        return '<span class="pw-muted">not stated</span>'
    if isinstance(value, list):
        return text(" ".join(str(one) for one in value))
    return text(byte_size(float(str(value))) if key.endswith("bytes") else value)


def named(name: str, color: int) -> str:
    """A run's name with its colour."""
    return f'{swatch(color)}<span class="pw-name">{text(name)}</span>'


def tiles(cells: Iterable[tuple[str, str]]) -> str:
    """Numbers large with their label small below; label and value are markup already."""
    boxes = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in cells)
    return f'<dl class="pw-tiles">{boxes}</dl>'


def unknown(missing: Iterable[tuple[str, str | None]]) -> str:
    """'Not known: Steps per second, Tokens per step (the log has no step counter).'; many are folded. Empty of none.

    missing: title and reason of each. A title's own comma would read as the end of it.
    """
    by_reason: dict[str, list[str]] = {}
    for title, reason in missing:
        by_reason.setdefault(reason or "no reason given", []).append(title.replace(", ", " "))
    words = text("; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in by_reason.items()))
    count = sum(map(len, by_reason.values()))
    if count > MOST_UNKNOWN:
        return f'<details class="pw-unknown"><summary>{count} numbers are not known</summary><p>{words}.</p></details>'
    return f'<p class="pw-unknown">Not known: {words}.</p>' if words else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], wraps: bool = False, is_numeric: bool = False) -> str:
    """A table of heads and cells that are markup already, its first column a row's name.

    Numbers stand on one line, to the right with `is_numeric`, and it scrolls sideways where it is too wide; texts wrap
    with `wraps`.
    """
    heads = "".join(f'<th scope="col">{one}</th>' for one in head)
    body = "".join(_row(*row) for row in rows)
    kind = "pw-table" + " pw-wraps" * wraps + " pw-numeric" * is_numeric
    columns = f' style="--pw-columns:{len(head) - 1}"' if is_numeric else ""  # each has room for a number
    return _wrapped(f'<table class="{kind}"{columns}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>')


def _wrapped(table: str) -> str:
    return f'<div class="pw-table-wrap" tabindex="0" role="region" aria-label="table">{table}</div>'


def preformatted(words: str, label: str) -> str:
    """Text that keeps its lines and spaces; it scrolls sideways where it is too wide, by the keyboard too."""
    return f'<pre class="pw-pre" tabindex="0" role="region" aria-label="{text(label)}">{text(words)}</pre>'


def _row(name: str, *cells: str) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def stacked_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that on a phone puts each row's cells below its name, each with its head; roles keep it a table there."""
    heads = "".join(f'<th scope="col" role="columnheader">{one}</th>' for one in head)
    body = "".join(_stacked_row(head, *row) for row in rows)
    return _wrapped(
        f'<table class="pw-table pw-stacks" role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table>'
    )


def _stacked_row(head: Sequence[str], name: str, *cells: str) -> str:
    """An empty cell takes no line of its own."""
    rest = "".join(f'<td role="cell" data-head="{one}">{cell}</td>' for one, cell in zip(head[1:], cells, strict=True))
    return f'<tr role="row"><th scope="row" role="rowheader">{name}</th>{rest}</tr>'


def log_lines(lines: Iterable[ViewLine]) -> str:
    """A log tail with its marked lines; `lines` as the log view gives them."""
    spans = (
        f'<div class="pw-mark-{text(row.get("kind") or "none")}">{text(row["text"])}</div>' for row in lines
    )  # fmt: skip
    return f'<div class="pw-log" tabindex="0" role="log" aria-label="server log">{"".join(spans)}</div>'


def sparkline(values: Sequence[float | None], color: str, width: int = 220, height: int = 34) -> str:
    """A small line of a series as an image, for Streamlit lets no drawing through; gaps stay gaps."""
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return f'<div style="height:{height}px"></div>'
    top, step = max(known) or 1.0, width / (len(values) - 1)
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
    """A drawing as the address of an image."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{body}</svg>'
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
