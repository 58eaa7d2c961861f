"""English text of any length from a seed; drafters predict it as well as prose, unlike random tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

GRAMMAR = "1"  # changes with the words below: the texts of a seed are others then
CHARACTERS_A_TOKEN = 4.6  # of this text under common tokenizers; cut exactly where one is asked
MOST_CHARACTERS_A_TOKEN = 7.0  # enough to be cut

WHO = "the driver|an engineer|our guest|the chief mechanic|a young analyst|the team|her rival|the marshal|the crew"
WHO_TOO = "the old car|the second car|the wind|the pit lane|the front tyre|the gearbox|the radio|the rain"
DID = "watched|measured|changed|lost|found|repaired|warned about|slowed down for|waited for|asked about|recalled"
WHAT = "the brakes|the fuel flow|a loose bolt|the left mirror|the third sector|the long straight|a set of soft tyres"
WHAT_TOO = "the lap before|the plan for the stop|a cup of coffee|the weather map|the engine note"
WHEN = "before the start|after nine laps|during the safety car|late in the evening|twice that day|without a word"
WHEN_TOO = "in the last corner|while the crowd sang|as the light faded|under the bridge|between two showers|for an hour"
WHY = "because the track was cold|so that nobody would notice|although the gap was small|until the flag fell"
WHY_TOO = "since the model had promised it|while the others slept|as if it were a habit|before anyone could object"
LINK = "Then|Later|Still|Meanwhile|In the end|At first|Once more|However|For that reason|On Sunday"


def _choices(*texts: str) -> list[str]:
    return [choice for text in texts for choice in text.split("|")]


SUBJECTS, VERBS, OBJECTS = _choices(WHO, WHO_TOO), _choices(DID), _choices(WHAT, WHAT_TOO)
TIMES, REASONS, LINKS = _choices(WHEN, WHEN_TOO), _choices(WHY, WHY_TOO), _choices(LINK)


def natural_text(seed: str, characters: int) -> str:
    """At least so many characters, the same for the same seed; it ends with a whole sentence."""
    parts: list[str] = []
    length = 0
    for sentence in _sentences(random.Random(seed)):
        parts.append(sentence)
        length += len(sentence) + 1
        if length >= characters:
            break
    return " ".join(parts)


class DrawnText(NamedTuple):
    """A text that is known by its seed and its length in tokens, and written when it is sent."""

    seed: str
    tokens: int

    def ample(self) -> str:
        """Enough for so many tokens of any common tokenizer, to be cut by that of the server."""
        return _ample(self.seed, self.tokens)

    def about(self) -> str:
        """About so many tokens, where no tokenizer can be asked."""
        return self.ample()[: max(1, round(self.tokens * CHARACTERS_A_TOKEN))]


@lru_cache(maxsize=4)  # of a context that many requests share
def _ample(seed: str, tokens: int) -> str:
    return natural_text(f"{GRAMMAR} {seed}", round(tokens * MOST_CHARACTERS_A_TOKEN))


def _sentences(drawn: random.Random) -> Iterator[str]:
    while True:
        words = f"{drawn.choice(SUBJECTS)} {drawn.choice(VERBS)} {drawn.choice(OBJECTS)}"
        if drawn.random() < 0.6:
            words += f" {drawn.choice(TIMES)}"
        if drawn.random() < 0.4:
            words += f", {drawn.choice(REASONS)}"
        if drawn.random() < 0.35:
            words = f"{drawn.choice(LINKS)} {words}"
        if drawn.random() < 0.15:
            words += f", and {drawn.randint(2, 99)} seconds were {drawn.choice(('gained', 'lost'))}"
        yield words[0].upper() + words[1:] + "."
