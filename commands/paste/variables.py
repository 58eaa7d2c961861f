"""The variables of a paste: assigned ones are substituted, other references stay as written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from commands.paste.braces import BraceExpander
from commands.paste.notes import Notes
from commands.paste.shell import Word, WordPart, split_references
from commands.secrets import values_of
from redaction import is_secret_name

MAX_VALUE_LENGTH = 20_000  # characters; longer values stay references
MAX_DEPTH = 5  # defaults within defaults
_BRACED = re.compile(r"\$\{(\w+)(?:\[[@*]\])?(?:(:?[-=])(.*))?\}$", re.DOTALL)
_BARE = re.compile(r"\$([A-Za-z_]\w*)$")
_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}$")
_ALL_PARAMETERS = frozenset({"$@", "$*", "${@}", "${*}"})
_COMPUTED = re.compile(r"\$\(|`")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./:-]*>")


class Arg(NamedTuple):
    """A word as written, and with the paste's variables expanded."""

    raw: str
    text: str


def arg(text: str) -> Arg:
    """Return a word whose expanded text equals its written text."""
    return Arg(text, text)


def is_computed(text: str) -> bool:
    """Whether a shell would have to compute the value: '$(date)', '$((1+1))'."""
    return bool(_COMPUTED.search(text))


@dataclass
class Variables:
    """The variables assigned so far, and the exported ones among them."""

    notes: Notes
    values: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    unknown_arrays: set[str] = field(default_factory=set)
    exported: dict[str, str] = field(default_factory=dict)  # as written
    braces: BraceExpander = field(default_factory=BraceExpander)
    secrets: set[str] = field(default_factory=set)  # values of secret names and flags

    def assign(self, name: str, value: Word) -> None:
        """Assign NAME=value; computed values stay unknown."""
        text = self.expand(value)
        if is_secret_name(name):
            self.secrets.add(text)
        refers_to_itself = re.search(rf"(?<!\\)\$\{{?{name}\b", text)
        if is_computed(text) or refers_to_itself or len(text) > MAX_VALUE_LENGTH:
            self.values.pop(name, None)
        else:
            self.values[name] = text

    def assign_default(self, word: Word) -> None:
        """Apply `: "${NAME:=value}"`: assign NAME unless it has a value."""
        for part in word.parts:
            braced = _BRACED.match(part.text) if part.is_reference else None
            if braced and braced[2] in ("=", ":=") and braced[1] not in self.values:
                self.assign(braced[1], Word((WordPart(self.expand_text(braced[3]), is_quoted=True),)))

    def forget(self, name: str) -> None:
        """Forget a name whose value only a shell can determine; it stays a reference."""
        self.values.pop(name, None)
        self.arrays.pop(name, None)
        self.unknown_arrays.add(name)

    def export(self, name: str, value: Word | None) -> None:
        """Apply `export NAME=value` or `export NAME`."""
        if value is not None:
            self.assign(name, value)
        text = value.text if value is not None else self.values.get(name)
        if text is not None and not is_computed(text):
            self.exported[name] = text

    def expand(self, word: Word) -> str:
        """Return the expanded word as one text."""
        return word.fill_references(self._expand_part)

    def expand_text(self, text: str, depth: int = 0) -> str:
        """Expand a text with references outside the shell (YAML)."""
        return "".join(self._expand_part(part, depth) for part in split_references(text))

    def expand_words(self, words: Iterable[Word]) -> list[Arg]:
        """Expand the words of a command; an unquoted variable with several words becomes several words."""
        args = [arg for word in words for arg in self._split(word)]
        self.secrets.update(values_of([word.text for word in args]).values())
        return args

    def _split(self, word: Word) -> Iterator[Arg]:
        if word.text in _ALL_PARAMETERS:
            self.notes.add(self.notes.unresolved, word.text)
            return
        array = _ARRAY.match(word.text)
        if array and array[1] in self.arrays:
            yield from map(arg, self.arrays[array[1]])
            return
        if array and array[1] in self.unknown_arrays:
            self.notes.add(self.notes.unresolved, word.text)
            return
        text = self.expand(word)
        for placeholder in _PLACEHOLDER.findall(text):
            self.notes.add(self.notes.unresolved, placeholder)
        only = word.parts[0] if len(word.parts) == 1 else None
        if only and only.is_reference and not only.is_quoted and text != word.text:
            yield from map(arg, text.split())
        else:
            yield Arg(word.text, text)

    def value_of(self, reference: WordPart) -> str:
        """Return the value of a reference, '' if unknown, without adding a note."""
        match = _BARE.match(reference.text) or _BRACED.match(reference.text)
        return self.values.get(match[1], "") if match else ""

    def _expand_part(self, part: WordPart, depth: int = 0) -> str:
        if not part.is_reference:
            return part.text
        bare, braced = _BARE.match(part.text), _BRACED.match(part.text)
        match = bare or braced
        if match and match[1] in self.values:
            return self.values[match[1]]
        self.notes.add(self.notes.unresolved, part.text)
        has_default = braced is not None and braced[2] is not None
        if braced and has_default and depth < MAX_DEPTH:
            return self.expand_text(braced[3], depth + 1)
        return part.text
