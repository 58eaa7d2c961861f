"""An engine's flags: their names and numbers of values, and splitting a command line by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

Takes = Literal["switch", "value", "optional", "many"]
TYPO_SCORE = 0.8  # difflib ratio from which a flag counts as a likely misspelling
_NUMBER = re.compile(r"-\d+(\.\d+)?$")
_BOOLEANS = frozenset({"true", "false", "True", "False"})
_CHOICES = frozenset({"on", "off", "auto", "0", "1", "enabled", "disabled"}) | _BOOLEANS


class Flag(NamedTuple):
    """One flag with all its names; `env` is the equivalent environment variable."""

    names: tuple[str, ...]
    takes: Takes
    env: str | None = None


class Item(NamedTuple):
    """A flag of a command line with its values, or a single word (`name` is then empty)."""

    name: str
    words: tuple[str, ...]
    values: tuple[str, ...] = ()
    flag: Flag | None = None
    is_negated: bool = False

    @property
    def text(self) -> str:
        """The shell words joined by blanks."""
        return " ".join(self.words)


def is_flag(word: str) -> bool:
    """Whether a word looks like a flag: '-c', '--port', but not '-', '-1' or a word with blanks."""
    return len(word) > 1 and word[0] == "-" and not _NUMBER.match(word) and not re.search(r"^[^=]*\s", word)


def words_of_flag(text: str) -> list[str]:
    """Split a flag and its value, written as one text, into words: '--x=a b' is one word."""
    name, blank, value = text.partition(" ")
    return [name, value] if blank and "=" not in name else [text]


@dataclass(frozen=True)
class FlagTable:
    """The flags of one engine, read from its `flag_names.txt` on first use.

    `spell` converts a name to the table's spelling; `preferred` names win if an abbreviation fits several flags,
    because older versions with fewer flags accepted it.
    """

    path: Path
    spell: Callable[[str], str] = str
    abbreviates: bool = False
    preferred: frozenset[str] = field(default_factory=frozenset)
    glued_switch: re.Pattern[str] | None = None  # '-O3'

    @cached_property
    def by_name(self) -> dict[str, Flag]:
        flags: dict[str, Flag] = {}
        for row in self.path.read_text().splitlines():
            takes, *words = row.split()
            names = tuple(word for word in words if word.startswith("-"))
            env = next((word for word in words if not word.startswith("-")), None)
            flags.update(dict.fromkeys(names, Flag(names, takes, env)))  # type: ignore[arg-type]
        return flags

    @lru_cache(maxsize=1024)  # noqa: B019 - tables live as long as the program
    def find(self, name: str) -> tuple[Flag | None, bool]:
        """Return the flag of this name, and whether it is negated with '--no-'."""
        spelled = self.spell(name)
        base = spelled.partition(".")[0]  # --speculative-config.method
        for candidate in dict.fromkeys((spelled, base)):
            if flag := self.by_name.get(candidate):
                return flag, _positive(candidate) in flag.names  # llama.cpp lists both names of a switch
        positive = self.by_name.get(_positive(spelled) or "")
        if positive and positive.takes == "switch":
            return positive, True
        return self._abbreviated(spelled), False

    def _abbreviated(self, spelled: str) -> Flag | None:
        if not self.abbreviates or not spelled.startswith("--") or len(spelled) < 4:
            return None
        candidates = {flag.names[0]: flag for name, flag in self.by_name.items() if name.startswith(spelled)}
        preferred = [flag for flag in candidates.values() if self.preferred.intersection(flag.names)]
        flags = list(candidates.values()) if len(candidates) == 1 else preferred
        return flags[0] if len(flags) == 1 else None

    @lru_cache(maxsize=256)  # noqa: B019 - tables live as long as the program
    def nearest(self, name: str) -> str | None:
        """Return the flag that an unknown name most likely means."""
        if len(name) < 5:
            return None
        close = get_close_matches(self.spell(name), self.by_name, n=1, cutoff=TYPO_SCORE)
        return close[0] if close else None

    def split(self, argv: Sequence[str]) -> Iterator[Item]:
        """Yield the words after the executable as flags with their values and as single words."""
        position = 0
        while position < len(argv):
            item = self._item(argv, position)
            position += len(item.words)
            if item.words != ("--",):
                yield item

    def _item(self, argv: Sequence[str], position: int) -> Item:
        word = argv[position]
        if not is_flag(word) or word == "--":
            return Item("", (word,), (word,))
        if self.glued_switch and self.glued_switch.fullmatch(word):
            return Item(word, (word,))
        name, equals, value = word.partition("=")
        flag, is_negated = self.find(name)
        if equals:
            return Item(name, (word,), (value,), flag, is_negated)
        values = tuple(self._values(name, flag, is_negated, argv, position + 1))
        return Item(name, (word, *values), values, flag, is_negated)

    def _values(self, name: str, flag: Flag | None, is_negated: bool, argv: Sequence[str], start: int) -> Iterable[str]:
        following = argv[start] if start < len(argv) else None
        if following is None or is_flag(following):
            return ()
        takes = flag.takes if flag else self._takes_by_likeness(name)
        if takes == "switch":
            return (following,) if following in _BOOLEANS and not is_negated else ()
        if takes == "optional":
            return (following,) if following in _CHOICES else ()
        if takes == "value":
            return (following,)
        end = next((i for i in range(start, len(argv)) if is_flag(argv[i])), len(argv))
        return argv[start:end]

    def _takes_by_likeness(self, name: str) -> Takes:
        nearest = self.nearest(name)
        return "switch" if nearest and self.by_name[nearest].takes == "switch" else "value"


def _positive(name: str) -> str | None:
    """Return '--jinja' for '--no-jinja'; None for a name that is not negated."""
    return f"--{name[5:]}" if name.startswith("--no-") else None
