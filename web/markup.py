"""Small pieces of HTML for the pages; every text that came from outside goes through `text` first."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

from analysis.compare import Verdict
from collectors.log_view import ViewLine
from web.theme import DASH, run_color


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
    return "".join(f'<span class="pw-chip">{text(word)}</span>' for word in words)


def run_link(page: str, run_ids: Sequence[str]) -> str:
    """The address of a page for these runs: '/compare?run=a&run=b'."""
    return f"{page}?{urlencode([('run', run_id) for run_id in run_ids])}"


def number(value: str, unit: str = "", why: str | None = None) -> str:
    """A number with its unit small beside it; a dash says on hover why it is one."""
    if value == DASH and why:
        return f'<abbr title="{text(why)}">{DASH}</abbr>'
    return f"{text(value)} <small>{text(unit)}</small>" if unit and value != DASH else text(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are markup already; scrolls sideways by itself where it is too wide."""
    heads = "".join(f'<th scope="col">{text(h)}</th>' for h in head)
    body = "".join("<tr>" + "".join(f'<td class="pw-num">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    inner = f'<table class="pw-table"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="pw-table-wrap" tabindex="0" role="region" aria-label="table">{inner}</div>'


def verdict(answer: Verdict) -> str:
    """The answer for a pair; a refusal to rank comes with all its reasons."""
    if answer.ranked:
        return f'<p class="pw-verdict">{text(answer.sentence)}</p>'
    more = "".join(f"<li>{text(reason)}</li>" for reason in answer.reasons[1:])
    rest = f"<ul>{more}</ul>" if more else ""
    return f'<div class="pw-verdict pw-not-ranked">{text(answer.sentence)}{rest}</div>'


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
