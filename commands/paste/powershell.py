"""Rewrites a PowerShell script as shell text: variables, arrays, splatting, `param`, `if`, loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MAX_ARRAY = 20_000  # characters
MAX_LINE = 20_000
MOST_ARRAYS = 200
_IS_POWERSHELL = re.compile(
    r"^[ \t]*(?:\$\w+[ \t]+\+?=[ \t]|\$\w+[ \t]*=[ \t]*@\(|param[ \t]*\()", re.MULTILINE | re.IGNORECASE
)
_ARRAY = re.compile(r"^(?P<indent>[ \t]*)\$(?P<name>\w+)[ \t]*(?P<plus>\+?)=[ \t]*@\(", re.MULTILINE)
_PARAM = re.compile(r"^[ \t]*param[ \t]*\(", re.MULTILINE | re.IGNORECASE)
_PARAMETER = re.compile(r"\$(\w+)[ \t]*(?:=[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[^\s,)]+))?")
_ASSIGN = re.compile(r"\$(\w+)[ \t]*(\+?)=[ \t]*(.+)")
_ASK = re.compile(r"\(?Read-Host\b", re.IGNORECASE)
_ITEM = re.compile(r"\"(?:[^\"\n`]|`.)*\"|'[^'\n]*'|[^\s,]+")
_LIST = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,\"']+)(?:[ \t]*,[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,\"']+))+")
_VALUE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[\w./:\\-]+|\$\w+")
_IF = re.compile(r"(\}?[ \t]*(?:else)?if)[ \t]*\((.*)\)[ \t]*\{", re.IGNORECASE)
_INLINE_IF = re.compile(r"if[ \t]*\((.*)\)[ \t]*\{([^{}]*)\}(?:[ \t]*else[ \t]*\{([^{}]*)\})?", re.IGNORECASE)
_ELSE = re.compile(r"\}?[ \t]*else[ \t]*\{", re.IGNORECASE)
_FOREACH = re.compile(r"foreach[ \t]*\([ \t]*\$(\w+)[ \t]+in[ \t]+(.*)\)[ \t]*\{", re.IGNORECASE)
_WHILE = re.compile(r"(?:while|for|switch)[ \t]*\((.*)\)[ \t]*\{", re.IGNORECASE)
_START = re.compile(
    r"Start-Process[ \t]+(?:-FilePath[ \t]+)?(\S+|\"[^\"\n]*\")[ \t]+-ArgumentList[ \t]+", re.IGNORECASE
)
_START_OPTION = re.compile(  # of Start-Process itself
    r"[ \t]-(?:(?:WindowStyle|WorkingDirectory|Verb|Credential|Redirect\w+)[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)"
    r"|PassThru|NoNewWindow|Wait|UseNewEnvironment)(?=\s|$)",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?P<code>(?:[^\"'#`\n]|\"[^\"\n]*\"|'[^'\n]*'|`.|(?<=\S)\#)*?)(?:(?<=\s)|^)\#[^\n]*")
_SPLAT = re.compile(r"(?<=\s)@(\w+)\b")
_SUBEXPRESSION = re.compile(r"\$\(\$(\w+)\)")
_ENVIRONMENT = re.compile(r"\$(?:\{env:(\w+)\}|env:(\w+)\b(?![ \t]*=))", re.IGNORECASE)


def rewrite_powershell(text: str) -> str:
    """Return a PowerShell script as shell text; other texts stay as they are."""
    if not _IS_POWERSHELL.search(text):
        return text
    text = _rewrite_parameters(_rewrite_arrays(text))
    array_names = set(re.findall(r"^[ \t]*(\w+)\+?=\(", text, re.MULTILINE))
    closings: list[str] = []
    return "\n".join(_lines(text, closings, array_names))


def _rewrite_arrays(text: str) -> str:
    """Turn `$x = @("a", "b")` into `x=("a" "b")`."""
    parts: list[str] = []
    position = 0
    for match in islice(_ARRAY.finditer(text), MOST_ARRAYS):
        end = _closing(text, match.end())
        if match.start() < position or end is None:
            continue
        items = [item for line in text[match.end() : end].split("\n") for item in _items(line)]
        parts += [
            text[position : match.start()],
            f"{match['indent']}{match['name']}{match['plus']}=({' '.join(items)})",
        ]
        position = end + 1
    return "".join(parts) + text[position:]


def _items(line: str) -> list[str]:
    stripped = line.strip()
    return [] if stripped.startswith("#") else _ITEM.findall(stripped)


def _closing(text: str, start: int) -> int | None:
    """The position of the parenthesis that closes what opened before `start`."""
    depth = 1
    for match in re.finditer(r"\"[^\"\n]*\"|'[^'\n]*'|[()]", text[start : start + MAX_ARRAY]):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth == 0:
            return start + match.start()
    return None


def _rewrite_parameters(text: str) -> str:
    """Turn the defaults of `param(...)` into defaults of a shell: they hold unless the caller says otherwise."""
    opening = _PARAM.search(text)
    end = _closing(text, opening.end()) if opening else None
    if opening is None or end is None:
        return text
    pairs = _PARAMETER.findall(text[opening.end() : end])
    lines = [f"{name}=${{{name}:-{value.strip(chr(34) + chr(39))}}}" for name, value in pairs if value]
    return "\n".join([text[: opening.start()], *lines, text[end + 1 :]])


def _lines(text: str, closings: list[str], array_names: set[str]) -> Iterator[str]:
    for line in text.split("\n"):
        yield line if len(line) > MAX_LINE else _line(line, closings, array_names)


def _line(line: str, closings: list[str], array_names: set[str]) -> str:
    stripped = _without_comment(line).strip()
    if match := _INLINE_IF.fullmatch(stripped):
        otherwise = f"; else {_line(match[3], [], array_names)}" if match[3] else ""
        return f"if [ {_condition(match[1])} ]; then {_line(match[2], [], array_names)}{otherwise}; fi"
    if match := _IF.fullmatch(stripped):
        is_first = match[1].lower() == "if"
        closings += ["fi"] if is_first else []
        return f"{'if' if is_first else 'elif'} [ {_condition(match[2])} ]; then"
    if _ELSE.fullmatch(stripped):
        return "else"
    if match := _FOREACH.fullmatch(stripped):
        closings.append("done")
        return f"for {match[1]} in {' '.join(_items(match[2]))}; do"
    if match := _WHILE.fullmatch(stripped):
        closings.append("done")
        return f"while [ {_condition(match[1])} ]; do"
    if stripped == "}" and closings:
        return closings.pop()
    if match := _ASSIGN.fullmatch(stripped):
        return _assignment(match[1], match[2], match[3].rstrip("; "), array_names)
    return _command(line, array_names)


def _without_comment(line: str) -> str:
    """A line without the comment at its end."""
    match = _COMMENT.fullmatch(line) if "#" in line else None
    return match["code"] if match else line


def _condition(text: str) -> str:
    """A condition as words: its parentheses are none of a shell's."""
    return re.sub(r"[()\[\]]+", " ", text)


def _assignment(name: str, plus: str, value: str, array_names: set[str]) -> str:
    value = _references(value)
    if _ASK.match(value):
        return f"read {name}"
    if _LIST.fullmatch(value) or name in array_names:
        array_names.add(name)
        return f"{name}{plus}=({' '.join(_items(value))})"
    if _VALUE.fullmatch(value):
        return f"{name}{plus}={value}"
    return f"{name}=$({value.replace('(', ' ').replace(')', ' ')})"  # only PowerShell can compute it


def _command(line: str, array_names: set[str]) -> str:
    line = _SPLAT.sub(r'"${\1[@]}"', _references(re.sub(r"^([ \t]*)&[ \t]+", r"\1", line)))
    line = _START.sub(r"\1 ", _START_OPTION.sub("", line) if _START.search(line) else line)
    return re.sub(
        r"(?<=\s)\$(\w+)(?=\s|$)", lambda match: f'"${{{match[1]}[@]}}"' if match[1] in array_names else match[0], line
    )


def _references(text: str) -> str:
    text = _SUBEXPRESSION.sub(r"${\1}", text)
    return _ENVIRONMENT.sub(lambda match: f"${{{match[1] or match[2]}}}", text)
