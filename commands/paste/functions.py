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
    definitions: dict[str, str] = field(default_factory=dict)  # the whole text of those not called so far
    calls: int = 0
    _definition_start: int = 0
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
            self._name, self._definition_start = words[1].text, command.start
            if len(words) > 2 and words[2].text == "{":
                self._begin(text.find("{", command.start))
            return True
        if len(words) == 1 and command.ends_with == "(" and first not in _KEYWORDS:
            self._name, self._definition_start = first, command.start
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
            self._store(text, len(text), len(text))
            self._name, self._depth = "", 0

    def _begin(self, brace: int) -> None:
        self._start, self._depth = brace + 1, 1

    def _follow_body(self, command: Command, first: str, text: str) -> None:
        self._depth += (first == "{") - (first == "}")
        if self._depth == 0:
            self._store(text, command.start, command.end)
            self._name = ""

    def _store(self, text: str, body_end: int, end: int) -> None:
        self.bodies[self._name] = text[self._start : body_end]
        self.definitions[self._name] = text[self._definition_start : end]
