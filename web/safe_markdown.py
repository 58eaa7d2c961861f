"""Markdown that people write, as HTML: without raw HTML, without images, with links to http and https alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

LINKED = ("http", "https")


def is_web_link(address: str) -> bool:
    """Whether an address is http or https and names a host."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in LINKED and bool(parts.netloc)


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return is_web_link(url)


def _link_open(shown: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer nofollow"}
    return shown.renderToken(tokens, index, options, env)


def _reader() -> MarkdownIt:
    reader = _Reader("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    reader.add_render_rule("link_open", _link_open)
    return reader


_READER = _reader()


def parsed(text: str) -> list[Token]:
    """The text as it was read: HTML and images are text in it, and so are links to elsewhere."""
    return _READER.parse(text)


@lru_cache(maxsize=256)
def safe_html(text: str) -> str:
    """The text as HTML that needs no further escaping."""
    return str(_READER.render(text))
