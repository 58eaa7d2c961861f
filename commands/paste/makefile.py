"""Rewrites the recipes of a Makefile or a justfile as shell text: variables, their defaults, `$(or …)`, `$(if …)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commands.paste.servers import has_server_start

MAX_TEXT = 100_000  # characters
MAX_DEPTH = 8  # functions within functions
_TARGET = re.compile(r"^(?P<names>[\w.%/-][\w.%/ -]*):(?!=)[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*\t", re.MULTILINE)
_RULE = re.compile(r"[\w.%/-][\w.%/ -]*::?(?!=).*")
_ASSIGN = re.compile(r"(?P<export>export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*(?P<kind>\?|:{0,3}|\+)=[ \t]*(?P<value>.*)")
_CONDITION = re.compile(r"(ifeq|ifneq|ifdef|ifndef)[ \t]+(.*)")
_REFERENCE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_JUST_REFERENCE = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*)[ \t]*\}\}")
_JUST_RECIPE = re.compile(
    r"^@?[A-Za-z_][\w-]*"
    r"(?P<arguments>(?:[ \t]+[+*$]?[A-Za-z_][\w-]*(?:=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s:]+))?)*)[ \t]*:(?!=)[^\n]*$",
    re.MULTILINE,
)
_JUST_ARGUMENT = re.compile(r"([A-Za-z_][\w-]*)=(\"[^\"\n]*\"|'[^'\n]*'|[^\s:]+)")
_JUST_ASSIGN = re.compile(r"(?:export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*(\"[^\"\n]*\"|'[^'\n]*')[ \t]*(?:#.*)?")
_IS_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class _Makefile:
    """The variables that a Makefile sets so far, and how many choices its commands have made."""

    names: set[str] = field(default_factory=set)
    choices: int = 0
    before: list[str] = field(default_factory=list)  # what the next command needs before it

    def expand(self, text: str, depth: int = 0) -> str:
        """Turn the references and functions of a text into those of a shell."""
        parts: list[str] = []
        position = 0
        while (start := text.find("$", position)) >= 0:
            parts.append(text[position:start])
            body, position = _reference(text, start)
            if body is None:
                parts.append("$" if text[start : start + 2] == "$$" else text[start:position])
            else:
                parts.append(self._reference(body, depth) if depth < MAX_DEPTH else text[start:position])
        return "".join([*parts, text[position:]])

    def _reference(self, body: str, depth: int) -> str:
        function, blank, rest = body.partition(" ")
        if not blank:
            return f"${{{body}}}" if _IS_NAME.fullmatch(body) else f"$({body})"
        arguments = _arguments(rest)
        if function == "or":
            return self._first(arguments, depth)
        if function == "if" and len(arguments) > 1:
            return self._choice(arguments, depth)
        return f"$({self.expand(rest, depth + 1) if function == 'shell' else body})"

    def _first(self, arguments: list[str], depth: int) -> str:
        """`$(or $(X),default)`: the first that is not empty."""
        first, *further_arguments = arguments
        name = _REFERENCE.fullmatch(first)
        default = self._first(further_arguments, depth + 1) if further_arguments and depth < MAX_DEPTH else ""
        if name is None or not further_arguments:
            return self.expand(first, depth + 1)
        return f"${{{name[1] or name[2]}:-{default}}}"

    def _choice(self, arguments: list[str], depth: int) -> str:
        """`$(if $(X),then,else)`: a variable that a condition decides."""
        condition, then_text, *else_arguments = (self.expand(argument, depth + 1) for argument in arguments)
        otherwise = else_arguments[0] if else_arguments else ""
        name = _REFERENCE.fullmatch(arguments[0])
        if name and (name[1] or name[2]) in self.names:
            return then_text
        self.choices += 1
        variable = f"IF_{(name[1] or name[2]).replace('-', '_') if name else ''}_{self.choices}".replace("__", "_")
        self.before += [f"{variable}='{otherwise}'", f'if [ -n "{condition}" ]; then {variable}="{then_text}"; fi']
        return f"${variable}"


def rewrite_makefile(text: str) -> str:
    """Return the recipes of a Makefile or a justfile as shell text; other texts stay as they are."""
    if len(text) > MAX_TEXT:
        return text
    if _TARGET.search(text) and not _JUST_REFERENCE.search(text):
        lines = list(_lines(re.sub(r"\\\n[ \t]*", " ", text), _Makefile()))
    elif _JUST_REFERENCE.search(text) and _JUST_RECIPE.search(text):
        lines = list(_just_lines(text))
    else:
        return text
    return "\n".join(lines) if any(map(has_server_start, lines)) else text


def _lines(text: str, makefile: _Makefile) -> Iterator[str]:
    for line in text.split("\n"):
        if line.startswith("\t"):
            command = makefile.expand(line.strip().lstrip("@-+"))
            yield from makefile.before
            makefile.before.clear()
            yield command
        elif match := _ASSIGN.fullmatch(line.strip()):
            yield _assignment(match, makefile)
        elif match := _CONDITION.fullmatch(line.strip()):
            yield f"if [ {makefile.expand(match[0]).replace('(', ' ').replace(')', ' ')} ]; then"
        elif line.strip() in ("else", "endif"):
            yield "fi" if line.strip() == "endif" else "else"
        else:
            yield f"# {line}" if _RULE.fullmatch(line) else line


def _assignment(match: re.Match[str], makefile: _Makefile) -> str:
    name = match["name"]
    value = makefile.expand(match["value"].partition(" #")[0].strip()).replace('"', '\\"')
    if value:
        makefile.names.add(name)
    export = "export " if match["export"] else ""
    if match["kind"] == "?":
        return f'{export}{name}="${{{name}:-{value}}}"'
    return f'{export}{name}+=" {value}"' if match["kind"] == "+" else f'{export}{name}="{value}"'


def _just_lines(text: str) -> Iterator[str]:
    for line in re.sub(r"\\\n[ \t]*", " ", text).split("\n"):
        if line[:1].isspace() and line.strip():
            yield _JUST_REFERENCE.sub(lambda match: f"${{{_shell_name(match[1])}}}", line.strip().lstrip("@-"))
        elif match := _JUST_ASSIGN.fullmatch(line):
            yield f"{_shell_name(match[1])}={match[2]}"
        elif recipe := _JUST_RECIPE.fullmatch(line):
            defaults = _JUST_ARGUMENT.findall(recipe["arguments"])
            yield from (
                f'{_shell_name(n)}="${{{_shell_name(n)}:-{value.strip(chr(34) + chr(39))}}}"' for n, value in defaults
            )
        else:
            yield line


def _shell_name(name: str) -> str:
    return name.replace("-", "_")


def _reference(text: str, start: int) -> tuple[str | None, int]:
    """The inside of `$(…)` or `${…}` and the position after it; None for `$$` and single letters."""
    opening = text[start + 1 : start + 2]
    closing = {"(": ")", "{": "}"}.get(opening)
    if closing is None:
        return None, start + 2
    depth = 0
    for position in range(start + 1, len(text)):
        depth += (text[position] == opening) - (text[position] == closing)
        if depth == 0:
            return text[start + 2 : position], position + 1
    return None, len(text)


def _arguments(text: str) -> list[str]:
    """The arguments of a function, parted by the commas outside of inner references."""
    arguments, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            arguments.append(text[start:position].strip())
            start = position + 1
    return [*arguments, text[start:].strip()]
