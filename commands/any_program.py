"""Reads a command whose engine a person names, because nothing in it does: a script, a wrapper, any program."""

from __future__ import annotations

import re
import shlex

from domain import Config

_PORT = re.compile(r"(?:^|\s)(?:--port|-p)[=\s]+(\d{1,5})(?:\s|$)")


def as_it_is(command: str, engine: str) -> Config | None:
    """Its words split as a shell would and never given to one; None where they cannot be distinguished."""
    try:
        words = shlex.split(command.replace("\\\n", " "))
    except ValueError:
        return None
    if not words:
        return None
    port = _PORT.search(command)
    return Config(engine=engine, executable=words[0], argv=tuple(words), port=int(port[1]) if port else None)
