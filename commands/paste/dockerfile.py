"""Rewrites a Dockerfile that starts a server as the command of a container of its base image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from shlex import quote

from commands.paste.notes import Notes
from commands.paste.script import leave_out
from commands.paste.servers import engine_of_image

MAX_TEXT = 100_000  # characters
_INSTRUCTIONS = (
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"
)
_INSTRUCTION = re.compile(rf"[ \t]*({_INSTRUCTIONS.replace(' ', '|')})[ \t]+(.*)", re.DOTALL)
_BASE = re.compile(r"(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE)
_IS_DOCKERFILE = re.compile(r"(?:[ \t]*(?:#[^\n]*|ARG[ \t][^\n]*)?\n)*[ \t]*FROM[ \t]+\S")
_STARTS = re.compile(r"^[ \t]*(?:ENTRYPOINT|CMD)[ \t]", re.MULTILINE)
_PAIR = re.compile(r"[A-Za-z_]\w*=(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"']+)?")
_OLD_PAIR = re.compile(r"([A-Za-z_]\w*)[ \t]+(.*)", re.DOTALL)


def rewrite_dockerfile(text: str, notes: Notes) -> str:
    """Return what a Dockerfile's last stage starts, and its variables; other texts stay as they are."""
    if len(text) > MAX_TEXT or not _IS_DOCKERFILE.match(text) or not _STARTS.search(text):
        return text
    lines: list[str] = []
    other_instructions: list[str] = []
    stages: dict[str, str] = {}
    image = entrypoint = command = ""
    for name, rest in _instructions(text):
        if name == "FROM" and (base := _BASE.match(rest)):
            image = stages.get(base[1], base[1])
            stages[base[2] or ""] = image
            entrypoint = command = ""
        elif name in ("ENV", "ARG"):
            lines += [f"{'export ' if name == 'ENV' else ''}{pair}" for pair in _pairs(rest)]
        elif name == "ENTRYPOINT":
            entrypoint, command = rest, ""
        elif name == "CMD":
            command = rest
        elif name:
            leave_out(notes, f"{name} {rest}")
        else:
            other_instructions.append(rest)
    notes.add(notes.warnings, f"the Dockerfile builds an image on {image}: the command is that of the built image")
    return "\n".join([*lines, _start(image, entrypoint, command), *other_instructions])


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each instruction with its joined lines, among which comments may stand; other lines without a name."""
    lines = [line.rstrip() for line in text.split("\n") if not line.lstrip().startswith("#")]
    for joined in re.sub(r"\\\n[ \t]*", " ", "\n".join(lines)).split("\n"):
        match = _INSTRUCTION.fullmatch(joined)
        yield (match[1], match[2].strip()) if match else ("", joined)


def _pairs(rest: str) -> list[str]:
    """The assignments of `ENV A=b C=d`, `ENV A b` or `ARG A=b`."""
    if pairs := _PAIR.findall(rest):
        return pairs
    old = _OLD_PAIR.fullmatch(rest)
    return [f"{old[1]}={quote(old[2])}"] if old else []


def _start(image: str, entrypoint: str, command: str) -> str:
    """The command of a container: of the base image, if that is a server's, else of the words alone."""
    shell_text = entrypoint if entrypoint and _exec_words(entrypoint) is None else ""
    words = [] if shell_text else _exec_words(entrypoint) or []
    arguments = _exec_words(command)
    rest = shell_text or " ".join(
        [*map(quote, words), *(map(quote, arguments) if arguments is not None else [command])]
    )
    if engine_of_image(image) is None:
        return rest
    if not entrypoint:
        return f"docker run {image} {rest}"
    program, _, rest = rest.partition(" ")
    return f"docker run --entrypoint {program or quote('')} {image} {rest}"


def _exec_words(text: str) -> list[str] | None:
    """The words of the form that is a JSON list; None for a text for a shell."""
    try:
        words = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if is_list else None
