"""Takes the functions of a script out of its commands: their bodies are read where they are called."""

from __future__ import annotations

from dataclasses import dataclass, field

from commands.paste.shell import Command

MOST_CALLS = 100
MAX_CALL_DEPTH = 4
_KEYWORDS = frozenset({"if", "for", "while", "until", "case", "select", "then", "else", "elif", "do"})


@dataclass
class Functions:
    """The bodies of the functions that a script defines, by name."""

    bodies: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    _name: str = ""  # of a definition whose body has not begun
    _start: int = 0  # of the body
    _depth: int = 0  # of braces; 0 outside a body

    def takes(self, command: Command, text: str) -> bool:
        """Whether a command belongs to a definition and is not run."""
        words = command.words
        first = words[0].text if words else ""
        if self._depth:
            self._follow_body(command, first, text)
            return True
        if first == "function" and len(words) > 1:
            self._name = words[1].text
            if len(words) > 2 and words[2].text == "{":
                self._begin(text.find("{", command.start))
            return True
        if len(words) == 1 and command.ends_with == "(" and first not in _KEYWORDS:
            self._name = first
            return True
        if self._name and not words:
            return True
        if self._name and first == "{":
            self._begin(text.find("{", command.start))
            return True
        self._name = ""
        return False

    def finish(self, text: str) -> None:
        """Take a body that the text leaves open up to its end."""
        if self._depth:
            self.bodies[self._name] = text[self._start :]
            self._name, self._depth = "", 0

    def _begin(self, brace: int) -> None:
        self._start, self._depth = brace + 1, 1

    def _follow_body(self, command: Command, first: str, text: str) -> None:
        self._depth += (first == "{") - (first == "}")
        if self._depth == 0:
            self.bodies[self._name] = text[self._start : command.start]
            self._name = ""
