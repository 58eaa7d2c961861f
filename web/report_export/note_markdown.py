"""Rewrites people's Markdown safely: formatting is kept, but HTML, images and non-web links become plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import indent

from markdown_it.tree import SyntaxTreeNode

from web.publish.markdown_words import backtick_fence, escaped, fenced, table
from web.safe_markdown import parse_tokens


def safe_markdown(text: str) -> str:
    """Return the text as Markdown that is safe in other renderers."""
    return _blocks(SyntaxTreeNode(parse_tokens(text)))


def quoted(text: str) -> str:
    """Return the text as a quotation: each line begins with '>'."""
    return indent(text, "> ", lambda _: True).replace("> \n", ">\n")


def _blocks(node: SyntaxTreeNode) -> str:
    """Items of a tight list have no blank lines between blocks."""
    return ("\n" if _is_tight(node) else "\n\n").join(_block(child) for child in node.children)


def _is_tight(item: SyntaxTreeNode) -> bool:
    return any(child.type == "paragraph" and child.hidden for child in item.children)


def _block(node: SyntaxTreeNode) -> str:
    return BLOCKS.get(node.type, _inline)(node)


def _list(node: SyntaxTreeNode) -> str:
    """Ordered lists count from one."""
    markers = [f"{number}. " if node.type == "ordered_list" else "- " for number in range(1, 1 + len(node.children))]
    items = zip(markers, node.children, strict=True)
    gap = "\n" if any(map(_is_tight, node.children)) else "\n\n"
    return gap.join(marker + indent(_blocks(item), " " * len(marker)).lstrip(" ") for marker, item in items)


def _table(node: SyntaxTreeNode) -> str:
    rows = [[_inline(cell) for cell in row.children] for section in node.children for row in section.children]
    return table(rows[0], rows[1:])


def _inline(node: SyntaxTreeNode) -> str:
    return "".join(INLINE.get(child.type, _inline)(child) for child in node.children)


def _text(node: SyntaxTreeNode) -> str:
    """Escape a final '!', which would turn a following link into an image."""
    line = escaped(node.content)
    return f"{line[:-1]}\\!" if line.endswith("!") else line


def _code(node: SyntaxTreeNode) -> str:
    """Escape code with a bar as plain text, since the bar would end a table cell."""
    if "|" in node.content:
        return escaped(node.content)
    fence = backtick_fence(node.content, 1)
    return f"{fence} {node.content} {fence}"


def _link(node: SyntaxTreeNode) -> str:
    """Links are http or https; others were never parsed as links."""
    return f"[{_inline(node)}](<{node.attrs['href']}>)"


RenderNode = Callable[[SyntaxTreeNode], str]
BLOCKS: Mapping[str, RenderNode] = {
    "heading": lambda node: f"**{_inline(node)}**",  # the report has its own headings
    "fence": lambda node: fenced(node.content.rstrip("\n"), ""),
    "code_block": lambda node: fenced(node.content.rstrip("\n"), ""),
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": lambda node: quoted(_blocks(node)),
    "table": _table,
    "hr": lambda _: "---",
}
INLINE: Mapping[str, RenderNode] = {
    "text": _text,
    "code_inline": _code,
    "strong": lambda node: f"**{_inline(node)}**",
    "em": lambda node: f"*{_inline(node)}*",
    "link": _link,
    "softbreak": lambda _: "  \n",
    "hardbreak": lambda _: "  \n",
}
