"""Rewrites a fish script as shell text: `set`, lists, `if … end`, `for … end`, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINE = 20_000  # characters
_IS_FISH = re.compile(
    r"^[ \t]*(?:set[ \t]+(?:-[A-Za-z]+[ \t]+|--\w+[ \t]+)*[A-Za-z_]\w*[ \t]+[^\s=]|set[ \t]+-[gUlx]+x?[ \t])",
    re.MULTILINE,
)
_END = re.compile(r"^[ \t]*end[ \t]*$", re.MULTILINE)
_EXPORT = re.compile(r"^[ \t]*set[ \t]+-[gU]?x[gU]?[ \t]", re.MULTILINE)
_SET = re.compile(r"set[ \t]+((?:-[A-Za-z]+[ \t]+|--\w+[ \t]+)*)([A-Za-z_]\w*)[ \t]*(.*)")
_WORD = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*'|\\.|[^\s\"'\\])+")
_OPENING = re.compile(r"(if|else if|while|for|switch|function|begin)\b[ \t]*(.*)")
_CASE = re.compile(r"case[ \t]+(.*)")


def rewrite_fish(text: str) -> str:
    """Return a fish script as shell text; other texts stay as they are."""
    if not _IS_FISH.search(text) or not (_END.search(text) or _EXPORT.search(text)):
        return text
    lists: set[str] = set()
    return "\n".join(_lines(text.replace("\\\n", " "), lists))


def _lines(text: str, lists: set[str]) -> Iterator[str]:
    closings: list[str] = []
    for line in text.split("\n"):
        yield line if len(line) > MAX_LINE else _line(line.strip(), closings, lists)


def _line(line: str, closings: list[str], lists: set[str]) -> str:
    if match := _SET.fullmatch(line):
        return _assignment(match[1], match[2], match[3], lists)
    if line == "else":
        return line
    if line == "end" and closings:
        return closings.pop()
    if (match := _CASE.fullmatch(line)) and closings and closings[-1].endswith("esac"):
        prefix, closings[-1] = (";;\n" if closings[-1] == ";;\nesac" else ""), ";;\nesac"
        return f"{prefix}{'|'.join(_WORD.findall(match[1].replace(chr(39), '')))})"
    if match := _OPENING.fullmatch(line):
        return _open(match[1], match[2], closings)
    return _references(line, lists)


def _open(keyword: str, rest: str, closings: list[str]) -> str:
    if keyword == "else if":
        return f"elif {rest}; then"
    shapes = {
        "if": ("fi", f"if {rest}; then"),
        "while": ("done", f"while {rest}; do"),
        "for": ("done", f"for {rest}; do"),
        "switch": ("esac", f"case {rest} in"),
        "function": ("}", f"{rest.split(' ')[0]}() {{"),
        "begin": ("}", "{"),
    }
    closing, text = shapes[keyword]
    closings.append(closing)
    return text


def _assignment(options: str, name: str, rest: str, lists: set[str]) -> str:
    letters = "".join(part.lstrip("-")[:1] if part.startswith("--") else part[1:] for part in options.split())
    if "e" in letters or "q" in letters:
        return f"unset {name}" if "e" in letters else f"# set -q {name}"
    words = [_references(word, lists) for word in _WORD.findall(rest)]
    is_growing = "a" in letters or (bool(words) and words[0] == f'"${{{name}[@]}}"')
    if is_growing or len(words) > 1:
        lists.add(name)
        new_words = words[1:] if words[:1] == [f'"${{{name}[@]}}"'] else words
        return f"{name}{'+' if is_growing else ''}=({' '.join(new_words)})"
    value = re.sub(r"^\((.*)\)$", r"$(\1)", words[0]) if words else '""'
    return f"{'export ' if 'x' in letters else ''}{name}={value}"


def _references(text: str, lists: set[str]) -> str:
    """A text whose lists stand as arrays of a shell."""
    return re.sub(
        r"(?<![\\\"\w])\$(\w+)(?=\s|$)", lambda match: f'"${{{match[1]}[@]}}"' if match[1] in lists else match[0], text
    )
