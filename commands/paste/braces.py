"""Bash's brace expansion (`{a,b}`, `{1..4}`), with limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from commands.paste.shell import Word, WordPart
from errors import PitwallError

MOST_WORDS = 5000  # of a whole paste
MOST_CHARACTERS = 1_000_000
MAX_DEPTH = 50
_NUMBERS = re.compile(r"([+-]?\d{1,19})\.\.([+-]?\d{1,19})(?:\.\.([+-]?\d{1,19}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,19}))?")

Atoms = tuple[WordPart, ...]  # each is an unquoted character, a quoted piece or a reference


class TooManyWordsError(PitwallError):
    """Braces expand to too many words for a command; the message names them."""


@dataclass
class _Brace:
    """One pair of braces, with the positions of its own commas."""

    start: int
    end: int = -1
    commas: list[int] = field(default_factory=list)


@dataclass
class BraceExpander:
    """Expands the braces of one paste, and counts its words and characters."""

    words_left: int = MOST_WORDS
    characters_left: int = MOST_CHARACTERS

    def expand(self, words: Iterable[Word]) -> list[Word]:
        """Return the words with all braces expanded; raises TooManyWordsError."""
        return [expanded for word in words for expanded in self._word(word)]

    def _word(self, word: Word) -> list[Word]:
        if not any("{" in part.text for part in word.parts if _is_bare(part)):
            return [word]
        atoms = [atom for part in word.parts for atom in (map(WordPart, part.text) if _is_bare(part) else (part,))]
        pairs = {brace.start: brace for brace in _pairs(atoms)}
        expansions = _BraceExpansion(atoms, pairs, self, shorten(word.text)).between(0, len(atoms))
        if len(expansions) > 1:
            self.words_left -= len(expansions)
            self.characters_left -= sum(map(len, expansions))
        return [Word(_merge_characters(atoms)) for atoms in expansions if atoms]

    def check(self, words: int, characters: int, word_text: str) -> None:
        """Raise TooManyWordsError if the remaining limits are exceeded."""
        if words > self.words_left or characters > self.characters_left:
            raise TooManyWordsError(f"The braces in {word_text} expand to more words than a command can have")


@dataclass
class _BraceExpansion:
    """The expansion of one word; `pairs` are its braces by opening position."""

    atoms: Sequence[WordPart]
    pairs: dict[int, _Brace]
    expander: BraceExpander
    word_text: str

    def between(self, start: int, end: int, depth: int = 0) -> list[Atoms]:
        """Return the expansions of the atoms from `start` up to `end`."""
        if depth > MAX_DEPTH:
            raise TooManyWordsError(f"The braces in {self.word_text} are nested more than {MAX_DEPTH} deep")
        results: list[Atoms] = [()]
        position = literal = start
        while position < end:
            brace = self.pairs.get(position)
            choices = self._choices(brace, depth) if brace else None
            if brace and choices is not None:
                results = self._each_with(self._each_with(results, [tuple(self.atoms[literal:position])]), choices)
                position = literal = brace.end + 1
            else:
                position += 1
        return self._each_with(results, [tuple(self.atoms[literal:end])])

    def _choices(self, brace: _Brace, depth: int) -> list[Atoms] | None:
        """The expansions of one pair of braces; None for literal braces."""
        if brace.commas:
            borders = [brace.start, *brace.commas, brace.end]
            choices: list[Atoms] = []
            for before, after in pairwise(borders):
                choices += self.between(before + 1, after, depth + 1)
                self.expander.check(
                    len(choices), sum(map(len, choices)) if len(choices) < MOST_WORDS else 0, self.word_text
                )
            return choices
        inner = self.atoms[brace.start + 1 : brace.end]
        if len(inner) > 60 or not all(map(_is_bare, inner)):
            return None
        return self._sequence("".join(atom.text for atom in inner))

    def _sequence(self, text: str) -> list[Atoms] | None:
        numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
        match = numbers or letters
        if match is None:
            return None
        parse: Callable[[str], int] = int if numbers else ord
        first, last = parse(match[1]), parse(match[2])
        step = abs(int(match[3] or 1)) or 1
        self.expander.check(abs(last - first) // step + 1, 0, self.word_text)
        codes = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        width = max(len(end) for end in match.groups()[:2]) if numbers and _is_padded(match) else 0
        return [tuple(map(WordPart, f"{n:0{width}d}" if numbers else chr(n))) for n in codes]

    def _each_with(self, before: list[Atoms], after: list[Atoms]) -> list[Atoms]:
        characters = sum(map(len, before)) * len(after) + sum(map(len, after)) * len(before)
        if len(before) * len(after) > 1:
            self.expander.check(len(before) * len(after), characters, self.word_text)
        return [prefix + suffix for prefix in before for suffix in after]


def _is_bare(part: WordPart) -> bool:
    return not part.is_quoted and not part.is_reference


def _is_padded(match: re.Match[str]) -> bool:
    return any(re.match(r"[+-]?0\d", end) for end in match.groups()[:2])


def _pairs(atoms: Sequence[WordPart]) -> list[_Brace]:
    """The closed braces; a comma belongs to the innermost one."""
    open_braces: list[_Brace] = []
    closed: list[_Brace] = []
    for position, atom in enumerate(atoms):
        if not _is_bare(atom):
            continue
        if atom.text == "{":
            open_braces.append(_Brace(position))
        elif atom.text == "," and open_braces:
            open_braces[-1].commas.append(position)
        elif atom.text == "}" and open_braces:
            open_braces[-1].end = position
            closed.append(open_braces.pop())
    return closed


def _merge_characters(atoms: Atoms) -> Atoms:
    """The atoms with adjacent characters merged."""
    parts: list[WordPart] = []
    letters: list[str] = []
    for atom in (*atoms, None):
        if atom is not None and _is_bare(atom):
            letters.append(atom.text)
            continue
        if letters:
            parts.append(WordPart("".join(letters)))
            letters = []
        if atom is not None:
            parts.append(atom)
    return tuple(parts)


def shorten(text: str) -> str:
    """Return the text, shortened for a sentence."""
    return text if len(text) <= 60 else text[:60] + " …"
