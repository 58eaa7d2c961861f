"""Rewrites a batch file of Windows as shell text: `set`, `%NAME%`, `!NAME!`, `if`, `for`, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commands.paste.notes import Notes
from commands.paste.servers import SERVER_START

MAX_LINE = 20_000  # characters; longer lines stay as written
_IS_BATCH = re.compile(
    r"^[ \t]*@?(?:echo[ \t]+off\b|setlocal\b|set[ \t]+\"\w+=|set[ \t]+/[pa][ \t]|rem[ \t]"
    r"|start[ \t]+\"[^\"\n]*\"[ \t]|cmd(?:\.exe)?[ \t]+/[ck][ \t])",
    re.MULTILINE | re.IGNORECASE,
)
_SET = re.compile(r"^[ \t]*@?set[ \t]+\w+=", re.MULTILINE | re.IGNORECASE)
_REFERENCE = re.compile(r"%(\w{1,60})%|!(\w{1,60})!")
_COMPUTED = re.compile(r"%(\w{1,60}:[^%\n]{1,60})%")
_PARAMETER = re.compile(r"%([1-9])(?!\d)")
_LOOP_NAME = re.compile(r"%%(\w)\b")
_SCRIPT_FOLDER = re.compile(r"%~dp0\\?", re.IGNORECASE)
_IGNORED = re.compile(r"(?:echo[ \t]+off|setlocal|endlocal|title|color|cls|pause|chcp|rem|cd|pushd|popd)\b|::", re.I)
_ASK = re.compile(r"set[ \t]+/p[ \t]+\"?(\w+)=", re.IGNORECASE)
_COMPUTE = re.compile(r"set[ \t]+/a[ \t]+\"?(\w+)=([^\"]*)\"?", re.IGNORECASE)
_ASSIGN = re.compile(r"set[ \t]+(?:\"(\w+)=(.*)\"[ \t]*|(\w+)=(.*))", re.IGNORECASE)
_TITLE = re.compile(r"(start[ \t]+)\"[^\"\n]*\"[ \t]*", re.IGNORECASE)  # of the window
_INNER_COMMAND = re.compile(
    r"(?P<head>(?:start[ \t][^\"\n]*)?cmd(?:\.exe)?[ \t]+/[ck][ \t]+)\"(?P<command>.*)\"[ \t]*", re.I
)
_QUOTED = r"\"[^\"\n]*\""
_IF = re.compile(
    rf"if[ \t]+(?P<test>(?:/i[ \t]+)?(?:not[ \t]+)?(?:(?:defined|exist|errorlevel)[ \t]+(?:{_QUOTED}|\S+)"
    rf"|(?:{_QUOTED}|[^\s=]+)[ \t]*(?:==|[ \t](?:equ|neq|lss|leq|gtr|geq)[ \t])[ \t]*(?:{_QUOTED}|[^\s(]+)))"
    r"[ \t]*(?P<rest>.*)",
    re.IGNORECASE,
)
_FOR = re.compile(r"for[ \t]+%%?(\w)[ \t]+in[ \t]+\(([^)\n]*)\)[ \t]+do[ \t]+(.*)", re.IGNORECASE)
_ELSE = re.compile(r"\)[ \t]*else[ \t]*(.*)", re.IGNORECASE)
_INLINE = re.compile(r"\((?P<then>[^()\n]*)\)(?:[ \t]*else[ \t]*\((?P<otherwise>[^()\n]*)\))?", re.IGNORECASE)
_LABEL = re.compile(r"^[ \t]*:(\w+)[ \t]*$", re.MULTILINE)


def looks_like_batch(text: str) -> bool:
    """Whether a text is a batch file."""
    return bool(_IS_BATCH.search(text) or (_SET.search(text) and _REFERENCE.search(text)))


def rewrite_batch(text: str, notes: Notes) -> str:
    """Return a batch file as shell text; other texts stay as they are."""
    if not looks_like_batch(text):
        return text
    if _SCRIPT_FOLDER.search(text):
        notes.add(notes.unresolved, "%~dp0: the folder of the script")
    text = re.sub(r"\^[ \t]*\n", " ", text)
    used_names = {name.lower() for match in _REFERENCE.findall(text) for name in match if name}
    sections = _LABEL.split(text)
    parts = list(_lines(sections[0], used_names))
    for label, section in zip(sections[1::2], sections[2::2], strict=True):
        lines = list(_lines(section, used_names))
        is_reached = bool(SERVER_START.search(section))  # the command says that the script comes here
        parts += lines if is_reached else [f"if goto {label}; then", *lines, "fi"]
    return "\n".join(parts)


def _lines(text: str, used_names: set[str]) -> Iterator[str]:
    closings: list[str] = []
    for line in text.split("\n"):
        yield _line(line.strip().removeprefix("@"), closings, used_names) if len(line) <= MAX_LINE else line


def _line(line: str, closings: list[str], used_names: set[str]) -> str:
    """One line, or several commands in one, as shell text; `closings` are the open blocks' ends."""
    if match := _ELSE.fullmatch(line):
        return _else(match[1], closings, used_names)
    if line == ")" and closings:
        return closings.pop()
    if match := _IF.fullmatch(line):
        return _if("if", match, closings, used_names)
    if match := _FOR.fullmatch(line):
        head = f"for {match[1]} in {_references(match[2])}; do"
        if match[3].strip() == "(":
            closings.append("done")
            return head
        return f"{head} {_line(match[3].strip().strip('()'), [], used_names)}; done"
    return _command(line, used_names)


def _if(keyword: str, match: re.Match[str], closings: list[str], used_names: set[str]) -> str:
    head = f"{keyword} [ {_references(match['test'])} ]; then"
    remaining_words = match["rest"].strip()
    if remaining_words == "(":
        closings.append("fi")
        return head
    if inline := _INLINE.fullmatch(remaining_words):
        otherwise = f"; else {_command(inline['otherwise'].strip(), used_names)}" if inline["otherwise"] else ""
        return f"{head} {_command(inline['then'].strip(), used_names)}{otherwise}; fi"
    return f"{head} {_command(remaining_words.removeprefix('(').strip(), used_names)}; fi"


def _else(rest: str, closings: list[str], used_names: set[str]) -> str:
    if rest.strip() == "(":
        return "else"
    if (match := _IF.fullmatch(rest)) and closings:
        closings.pop()
        return _if("elif", match, closings, used_names)
    closing = closings.pop() if closings else ""
    return f"else {_command(rest.strip(), used_names)}; {closing}"


def _command(line: str, used_names: set[str]) -> str:
    if _IGNORED.match(line):
        return f"# {line}"
    if match := _ASK.match(line):
        return f"read {match[1]}"
    if match := _COMPUTE.match(line):
        expression = match[2].strip()
        return f"{match[1]}={expression}" if expression.isdigit() else f"{match[1]}=$(({_references(expression)}))"
    if match := _ASSIGN.fullmatch(line):
        name, value = (match[1], match[2]) if match[1] else (match[3], match[4])
        body = value.replace("\\", "\\\\").replace('"', '\\"')
        # Every variable of a batch file is exported; what only the file itself uses is none of the server's.
        export = "" if name.lower() in used_names else "export "
        return f'{export}{name}="{_references(body)}"'
    if re.match(r"(?:goto|exit)\b", line, re.IGNORECASE):
        return f"# {line}"
    line = _TITLE.sub(r"\1", line, count=1) if line[:5].lower() == "start" else line
    if inner := _INNER_COMMAND.fullmatch(line):
        line = inner["head"] + inner["command"]
    return _references(line)


def _references(text: str) -> str:
    """A text with batch references as those of a shell."""
    text = _COMPUTED.sub(r"$(\1)", text.replace("$", "\\$"))
    text = _REFERENCE.sub(lambda match: f"${{{match[1] or match[2]}}}", text)
    return _LOOP_NAME.sub(r"${\1}", _PARAMETER.sub(r"$\1", text)).replace("%*", "$@")
