"""Bash's brace expansion (`{a,b}`, `{1..4}`) within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from commands.paste.shell import Part, Word
from errors import PitwallError

MOST_WORDS = 5000  # of a whole paste
MOST_CHARACTERS = 1_000_000
DEEPEST = 50
_NUMBERS = re.compile(r"([+-]?\d{1,19})\.\.([+-]?\d{1,19})(?:\.\.([+-]?\d{1,19}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,19}))?")

Atoms = tuple[Part, ...]  # an unquoted character each, or a quoted piece or a reference


class TooManyWordsError(PitwallError):
    """Braces that stand for more words than a command has; the message names them."""


@dataclass
class _Brace:
    """One pair of braces: where its commas are, at its own level."""

    start: int
    end: int = -1
    commas: list[int] = field(default_factory=list)


@dataclass
class Braces:
    """Expands the braces of one paste, whose words and characters it counts."""

    words_left: int = MOST_WORDS
    characters_left: int = MOST_CHARACTERS

    def expand(self, words: Iterable[Word]) -> list[Word]:
        """The words with each brace expression written out; raises TooManyWordsError."""
        return [one for word in words for one in self._word(word)]

    def _word(self, word: Word) -> list[Word]:
        if not any("{" in part.text for part in word.parts if _is_bare(part)):
            return [word]
        atoms = [atom for part in word.parts for atom in (map(Part, part.text) if _is_bare(part) else (part,))]
        pairs = {brace.start: brace for brace in _pairs(atoms)}
        found = _Expansion(atoms, pairs, self, shorten(word.text)).between(0, len(atoms))
        if len(found) > 1:
            self.words_left -= len(found)
            self.characters_left -= sum(map(len, found))
        return [Word(_joined(one)) for one in found if one]

    def check(self, words: int, characters: int, named: str) -> None:
        """Raise TooManyWordsError where so many are not left."""
        if words > self.words_left or characters > self.characters_left:
            raise TooManyWordsError(f"The braces in {named} stand for more words than a command can have")


@dataclass
class _Expansion:
    """One word: `pairs` are its braces by where they open."""

    atoms: Sequence[Part]
    pairs: dict[int, _Brace]
    bounds: Braces
    named: str

    def between(self, start: int, end: int, depth: int = 0) -> list[Atoms]:
        """What the atoms from `start` up to `end` stand for."""
        if depth > DEEPEST:
            raise TooManyWordsError(f"The braces in {self.named} are nested more than {DEEPEST} deep")
        found: list[Atoms] = [()]
        at = literal = start
        while at < end:
            brace = self.pairs.get(at)
            choices = self._choices(brace, depth) if brace else None
            if brace and choices is not None:
                found = self._each_with(self._each_with(found, [tuple(self.atoms[literal:at])]), choices)
                at = literal = brace.end + 1
            else:
                at += 1
        return self._each_with(found, [tuple(self.atoms[literal:end])])

    def _choices(self, brace: _Brace, depth: int) -> list[Atoms] | None:
        """What one pair stands for; None for braces that are text."""
        if brace.commas:
            borders = [brace.start, *brace.commas, brace.end]
            found: list[Atoms] = []
            for before, after in pairwise(borders):
                found += self.between(before + 1, after, depth + 1)
                self.bounds.check(len(found), sum(map(len, found)) if len(found) < MOST_WORDS else 0, self.named)
            return found
        inner = self.atoms[brace.start + 1 : brace.end]
        if len(inner) > 60 or not all(map(_is_bare, inner)):
            return None
        return self._sequence("".join(atom.text for atom in inner))

    def _sequence(self, text: str) -> list[Atoms] | None:
        numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
        match = numbers or letters
        if match is None:
            return None
        read: Callable[[str], int] = int if numbers else ord
        first, last = read(match[1]), read(match[2])
        step = abs(int(match[3] or 1)) or 1
        self.bounds.check(abs(last - first) // step + 1, 0, self.named)
        row = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        width = max(len(end) for end in match.groups()[:2]) if numbers and _is_padded(match) else 0
        return [tuple(map(Part, f"{n:0{width}d}" if numbers else chr(n))) for n in row]

    def _each_with(self, before: list[Atoms], after: list[Atoms]) -> list[Atoms]:
        characters = sum(map(len, before)) * len(after) + sum(map(len, after)) * len(before)
        if len(before) * len(after) > 1:
            self.bounds.check(len(before) * len(after), characters, self.named)
        return [one + other for one in before for other in after]


def _is_bare(part: Part) -> bool:
    return not part.is_quoted and not part.is_reference


def _is_padded(match: re.Match[str]) -> bool:
    return any(re.match(r"[+-]?0\d", end) for end in match.groups()[:2])


def _pairs(atoms: Sequence[Part]) -> list[_Brace]:
    """The braces that are closed; a comma belongs to the innermost one around it."""
    open_braces: list[_Brace] = []
    closed: list[_Brace] = []
    for at, atom in enumerate(atoms):
        if not _is_bare(atom):
            continue
        if atom.text == "{":
            open_braces.append(_Brace(at))
        elif atom.text == "," and open_braces:
            open_braces[-1].commas.append(at)
        elif atom.text == "}" and open_braces:
            open_braces[-1].end = at
            closed.append(open_braces.pop())
    return closed


def _joined(atoms: Atoms) -> Atoms:
    """With characters that follow each other as one piece."""
    parts: list[Part] = []
    letters: list[str] = []
    for atom in (*atoms, None):
        if atom is not None and _is_bare(atom):
            letters.append(atom.text)
            continue
        if letters:
            parts.append(Part("".join(letters)))
            letters = []
        if atom is not None:
            parts.append(atom)
    return tuple(parts)


def shorten(text: str) -> str:
    """The text, cut so that it fits into a sentence."""
    return text if len(text) <= 60 else text[:60] + " …"
