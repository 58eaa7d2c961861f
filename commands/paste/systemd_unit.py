"""Rewrites a systemd service as shell: its environment counts wherever it stands in the unit."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^\[Service\][ \t]*$", re.MULTILINE)
_NEXT_SECTION = re.compile(r"^\[\w+\][ \t]*$|^[ \t]*`{3}", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^[ \t]*Environment=(.*)$\n?", re.MULTILINE)
_PAIR = re.compile(r"\"([A-Za-z_]\w*)=([^\"\n]*)\"|'([A-Za-z_]\w*)=([^'\n]*)'|([A-Za-z_]\w*)=(\S*)")
_START = re.compile(r"^[ \t]*ExecStart=(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_HOME = re.compile(r"(?<![\w%])%h(?=/|\s|$)")
_MOST_SECTIONS = 100


def rewrite_systemd_unit(text: str) -> str:
    """Return the text with the environment of each service before its command, and `%h` as the user's home."""
    position = 0
    for _ in range(_MOST_SECTIONS):
        opening = _SECTION.search(text, position)
        if opening is None:
            break
        closing = _NEXT_SECTION.search(text, opening.end())
        end = closing.start() if closing else len(text)
        body = _rewrite_service(text[opening.end() : end])
        text = text[: opening.end()] + body + text[end:]
        position = opening.end() + len(body)
    return text


def _rewrite_service(body: str) -> str:
    start = _START.search(body)
    if start is None:
        return body
    exports = "".join(_export(pair) for setting in _ENVIRONMENT.findall(body) for pair in _PAIR.finditer(setting))
    command = _HOME.sub("$HOME", start[0])
    before, after = body[: start.start()], body[start.end() :]
    return _ENVIRONMENT.sub("", before) + exports + command + _ENVIRONMENT.sub("", after)


def _export(pair: re.Match[str]) -> str:
    """The shell's text of one variable; the unit's `%h` is the home of its user."""
    name = pair[1] or pair[3] or pair[5]
    value = _HOME.sub("$HOME", next(text for text in (pair[2], pair[4], pair[6]) if text is not None))
    return f'export {name}="{value}"\n'
