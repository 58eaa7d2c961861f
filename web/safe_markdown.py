"""Renders people's Markdown as HTML, without raw HTML or images and with http and https links only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

LINK_SCHEMES = ("http", "https")


def is_web_link(address: str) -> bool:
    """Whether an address is http or https and names a host."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in LINK_SCHEMES and bool(parts.netloc)


class _SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return is_web_link(url)


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer nofollow"}
    return renderer.renderToken(tokens, index, options, env)


def _make_renderer() -> MarkdownIt:
    options = {"html": False, "breaks": True, "linkify": True}
    renderer = _SafeMarkdown("commonmark", options).enable(["table", "linkify"]).disable("image")
    assert renderer.linkify is not None
    renderer.linkify.set({"fuzzy_link": False, "fuzzy_email": False})  # 'model.py' and 'a@b.c' are no links
    renderer.add_render_rule("link_open", _link_open)
    return renderer


_RENDERER = _make_renderer()


def parse_tokens(text: str) -> list[Token]:
    """Parse the text; HTML, images and other links remain plain text."""
    return _RENDERER.parse(text)


@lru_cache(maxsize=256)
def safe_html(text: str) -> str:
    """Render the text as HTML that needs no further escaping."""
    return str(_RENDERER.render(text))
