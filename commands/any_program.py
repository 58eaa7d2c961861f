"""Reads a command whose engine is named by the user: a script, a wrapper, any program."""

from __future__ import annotations

import re
import shlex

from domain import Config

_PORT = re.compile(r"(?:^|\s)(?:--port|-p)[=\s]+(\d{1,5})(?:\s|$)")


def split_command(command: str, engine: str) -> Config | None:
    """Split the command as a shell would, without running it; None if it cannot be split."""
    try:
        words = shlex.split(command.replace("\\\n", " "))
    except ValueError:
        return None
    if not words:
        return None
    port = _PORT.search(command)
    return Config(engine=engine, executable=words[0], argv=tuple(words), port=int(port[1]) if port else None)
