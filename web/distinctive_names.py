"""The part of names that tells several runs or arms apart, for chips, buttons, legends and the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from analysis.comparison.arm_names import REPEAT_NUMBER

LONG_BEGINNING = 5  # characters: as in 'Demo:'
DELIMITERS = (":", ",", ";", "/", "|")


def distinctive_names(names: Sequence[str]) -> list[str]:
    """Return the names without the words that all of them begin with, since a narrow place shows only first letters.

    An ellipsis stands for what was removed, unless a delimiter ended it: what follows stands by itself. Repeats of an
    arm keep its name: '#2' alone says nothing.
    """
    words = [name.split() for name in names]
    shared = sum(
        1 for _ in takewhile(lambda words_at_position: len(set(words_at_position)) == 1, zip(*words, strict=False))
    )
    if words and any(REPEAT_NUMBER.fullmatch(f" {' '.join(name_words[shared:])}") for name_words in words):
        shared = next((end for end in range(shared, 0, -1) if words[0][end - 1].endswith(DELIMITERS)), 0)
    beginning = " ".join(words[0][:shared]) if words else ""
    if len(names) < 2 or len(beginning) < LONG_BEGINNING or shared == min(map(len, words)):
        return list(names)
    mark = "" if beginning.endswith(DELIMITERS) else "… "
    return [mark + " ".join(name_words[shared:]) for name_words in words]
