"""Reads command lines that end in the speed they gave; the options in which they differ name the arms."""

from __future__ import annotations

import re
from collections import Counter

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.number_text import NUMBER, StatedNumber, parse_number
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_figures import MAX_NAME_CHARS, add_stated
from collectors.imports.results.prose.stated_points import point_of_words

_MENTION = re.compile(r"t(?:ok\w{0,4})?/s|tps|tokens? per s", re.IGNORECASE)
_LINE = re.compile(
    r"\W{0,4}(?P<command>[\w./~][\w./-]{0,80} [^\n|]{1,1200}?)(?:\s{2,200}|\s?(?:→|-{1,2}>|=>|#)\s?)"
    rf"(?:{NUMBER})\s*",
    re.IGNORECASE,
)
_PART = re.compile(r"(?<!\S)--?[A-Za-z][\w.-]{0,60}(?:[= ](?!-)\S{1,200})?|\S{1,300}")
_OPTION = re.compile(r"(?<!\S)--?[A-Za-z]")
LEAST_OPTIONS, LEAST_COMMANDS = 2, 2
MAX_LINE_CHARS = 1500


def read_command_speeds(text: str) -> list[tuple[int, str, StatedNumber]]:
    """Return the lines (from 1) of such commands with their own options and their speeds; nothing for a single one."""
    commands: dict[int, tuple[list[str], StatedNumber]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line) if len(line) <= MAX_LINE_CHARS and _MENTION.search(line[-40:]) else None
        value = parse_number(match) if match and len(_OPTION.findall(match["command"])) >= LEAST_OPTIONS else None
        if match and value and value.unit == "tok/s":
            commands[number] = (_PART.findall(match["command"]), value)
    counts = Counter(part for parts, _ in commands.values() for part in set(parts))
    own_options = {
        number: " ".join(part for part in parts if counts[part] < len(commands))
        for number, (parts, _) in commands.items()
    }
    others = " ".join(dict.fromkeys(filter(None, own_options.values())))
    named = [(number, own_options[number] or f"without {others}", value) for number, (_, value) in commands.items()]
    is_told_apart = len({*own_options.values()}) == len(commands) >= LEAST_COMMANDS
    return named if is_told_apart else []


def add_command_speeds(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add such speeds, and return the text with their lines left empty; whose speed it is, no words say."""
    lines = text.splitlines()
    for number, own_options, value in read_command_speeds(text):
        name = f"{sections.prefix_of(number)}{own_options[:MAX_NAME_CHARS]} (line {number})"
        add_stated(load, point_of_words(name, own_options), value, STATED, 1.0, value.unit, STATED)
        lines[number - 1] = ""
    return "\n".join(lines)
