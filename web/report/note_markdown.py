"""Markdown that people wrote, written anew as Markdown: what was markup stays so, but no HTML, image or other link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import indent

from markdown_it.tree import SyntaxTreeNode

from web.report.markdown_words import escaped, fenced, longer_than, table
from web.safe_markdown import parsed


def safe_markdown(text: str) -> str:
    """The text for a place where Markdown is read, by others and with other rules than ours."""
    return _blocks(SyntaxTreeNode(parsed(text)))


def quoted(text: str) -> str:
    """As somebody's words: each line behind a '>'."""
    return indent(text, "> ", lambda _: True).replace("> \n", ">\n")


def _blocks(node: SyntaxTreeNode) -> str:
    """Within an item of a tight list no line is left free."""
    return ("\n" if _is_tight(node) else "\n\n").join(_block(child) for child in node.children)


def _is_tight(item: SyntaxTreeNode) -> bool:
    return any(child.type == "paragraph" and child.hidden for child in item.children)


def _block(node: SyntaxTreeNode) -> str:
    return BLOCKS.get(node.type, _inline)(node)


def _list(node: SyntaxTreeNode) -> str:
    """Ordered ones count from one."""
    marks = [f"{place}. " if node.type == "ordered_list" else "- " for place in range(1, 1 + len(node.children))]
    items = zip(marks, node.children, strict=True)
    gap = "\n" if any(map(_is_tight, node.children)) else "\n\n"
    return gap.join(mark + indent(_blocks(item), " " * len(mark)).lstrip(" ") for mark, item in items)


def _table(node: SyntaxTreeNode) -> str:
    rows = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    return table(rows[0], rows[1:])


def _inline(node: SyntaxTreeNode) -> str:
    return "".join(INLINE.get(child.type, _inline)(child) for child in node.children)


def _words(node: SyntaxTreeNode) -> str:
    """A '!' at the end would make an image of a link behind it."""
    line = escaped(node.content)
    return f"{line[:-1]}\\!" if line.endswith("!") else line


def _code(node: SyntaxTreeNode) -> str:
    """A bar in it would end the cell of a table."""
    if "|" in node.content:
        return escaped(node.content)
    fence = longer_than(node.content, 1)
    return f"{fence} {node.content} {fence}"


def _link(node: SyntaxTreeNode) -> str:
    """To http and https alone: others were never read as links."""
    return f"[{_inline(node)}](<{node.attrs['href']}>)"


Written = Callable[[SyntaxTreeNode], str]
BLOCKS: Mapping[str, Written] = {
    "heading": lambda node: f"**{_inline(node)}**",  # the report has heads of its own
    "fence": lambda node: fenced(node.content.rstrip("\n"), ""),
    "code_block": lambda node: fenced(node.content.rstrip("\n"), ""),
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": lambda node: quoted(_blocks(node)),
    "table": _table,
    "hr": lambda _: "---",
}
INLINE: Mapping[str, Written] = {
    "text": _words,
    "code_inline": _code,
    "strong": lambda node: f"**{_inline(node)}**",
    "em": lambda node: f"*{_inline(node)}*",
    "link": _link,
    "softbreak": lambda _: "  \n",
    "hardbreak": lambda _: "  \n",
}
