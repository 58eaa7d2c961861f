"""A note's Markdown comes out as HTML that can do nothing."""

from __future__ import annotations

import re

import pytest

from web.safe_markdown import is_web_link, safe_html

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onmouseover=alert(1)>b</b>",
    "[x](javascript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "<javascript:alert(1)>",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](/run?run=1)",
    "[x](//evil.example)",
    "[x]\n\n[x]: javascript:alert(1)",
    "![x](http://tracker.example/pixel.png)",
    '[x](http://a.example/"onclick="alert(1))',
    "```\n</code></pre><script>alert(1)</script>\n```",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_acts_gets_through(text: str) -> None:
    html = safe_html(text)
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z0-9]+)", html))
    assert tags <= {"p", "a", "pre", "code", "br"}, html
    for attribute in re.findall(r"<[^>]*?\s([a-z-]+)=", html):
        assert attribute in ("href", "class"), html
    assert all(href.startswith(("http://", "https://")) for href in re.findall(r'href="([^"]*)"', html)), html


def test_what_people_write_is_kept() -> None:
    html = safe_html("**fast**, see [the log](https://example.org/a?b=1)\n\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|")
    assert "<strong>fast</strong>" in html and html.count("<li>") == 2 and "<td>2</td>" in html
    assert '<a href="https://example.org/a?b=1" target="_blank" rel="noopener noreferrer nofollow">' in html


def test_a_web_link_is_http_with_a_host() -> None:
    assert is_web_link("https://example.org/x") and is_web_link("HTTP://example.org")
    assert not any(map(is_web_link, ["", "example.org", "ftp://a", "javascript:alert(1)", "https:", "http://[::1"]))


def test_bare_address_is_a_link() -> None:
    html = safe_html("Film: https://example.org/watch?v=1, made with model.py by me@example.org, javascript:alert(1)")
    assert re.findall(r'href="([^"]*)"', html) == ["https://example.org/watch?v=1"]
