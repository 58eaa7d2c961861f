"""English text of any length from a seed; unlike random tokens, drafters predict it as well as prose."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

GRAMMAR = "1"  # raise it when the phrases below change, since seeds then give other texts
CHARS_PER_TOKEN = 4.6  # of this text under common tokenizers; exact lengths need the server's tokenizer
MAX_CHARS_PER_TOKEN = 7.0  # always long enough to be cut

SUBJECT_PHRASES = (
    "the driver|an engineer|our guest|the chief mechanic|a young analyst|the team|her rival|the marshal|the crew"
)
MORE_SUBJECT_PHRASES = "the old car|the second car|the wind|the pit lane|the front tyre|the gearbox|the radio|the rain"
VERB_PHRASES = (
    "watched|measured|changed|lost|found|repaired|warned about|slowed down for|waited for|asked about|recalled"
)
OBJECT_PHRASES = (
    "the brakes|the fuel flow|a loose bolt|the left mirror|the third sector|the long straight|a set of soft tyres"
)
MORE_OBJECT_PHRASES = "the lap before|the plan for the stop|a cup of coffee|the weather map|the engine note"
TIME_PHRASES = (
    "before the start|after nine laps|during the safety car|late in the evening|twice that day|without a word"
)
MORE_TIME_PHRASES = (
    "in the last corner|while the crowd sang|as the light faded|under the bridge|between two showers|for an hour"
)
REASON_PHRASES = "because the track was cold|so that nobody would notice|although the gap was small|until the flag fell"
MORE_REASON_PHRASES = (
    "since the model had promised it|while the others slept|as if it were a habit|before anyone could object"
)
LINK_PHRASES = "Then|Later|Still|Meanwhile|In the end|At first|Once more|However|For that reason|On Sunday"


def _choices(*texts: str) -> list[str]:
    return [choice for text in texts for choice in text.split("|")]


SUBJECTS, VERBS, OBJECTS = (
    _choices(SUBJECT_PHRASES, MORE_SUBJECT_PHRASES),
    _choices(VERB_PHRASES),
    _choices(OBJECT_PHRASES, MORE_OBJECT_PHRASES),
)
TIMES, REASONS, LINKS = (
    _choices(TIME_PHRASES, MORE_TIME_PHRASES),
    _choices(REASON_PHRASES, MORE_REASON_PHRASES),
    _choices(LINK_PHRASES),
)

SECONDS, OUTCOMES = (2, 99), ("gained", "lost")


@cache
def all_words() -> frozenset[str]:
    """Return every word of the sentences as it stands there: with punctuation, or capitalized."""
    ends = {phrase.split(" ")[-1] for phrase in (*OBJECTS, *TIMES, *REASONS, *OUTCOMES)}
    begins = {phrase.split(" ")[0].capitalize() for phrase in (*SUBJECTS, *LINKS)}
    phrases = (*SUBJECTS, *VERBS, *OBJECTS, *TIMES, *REASONS, *LINKS, "and seconds were gained lost")
    words = {word for phrase in phrases for word in phrase.split(" ")}
    numbers = {str(number) for number in range(SECONDS[0], SECONDS[1] + 1)}
    return frozenset(words | numbers | begins | {word + mark for word in ends for mark in ",."})


def natural_text(seed: str, characters: int) -> str:
    """Return at least this many characters, equal for equal seeds; it ends with a complete sentence."""
    text: list[str] = []
    length = 0
    for sentence in sentences(random.Random(seed)):
        text.append(sentence)
        length += len(sentence) + 1
        if length >= characters:
            break
    return " ".join(text)


class SeededText(NamedTuple):
    """A text given by a seed and a length in tokens, generated when it is sent."""

    seed: str
    tokens: int

    def long_text(self) -> str:
        """Return a text that is long enough for any common tokenizer, to be cut by the server's."""
        return _long_text(self.seed, self.tokens)

    def approximate_text(self) -> str:
        """Return a text of approximately this many tokens, for servers without a tokenizer API."""
        return self.long_text()[: max(1, round(self.tokens * CHARS_PER_TOKEN))]


@lru_cache(maxsize=4)  # of a context that many requests share
def _long_text(seed: str, tokens: int) -> str:
    return natural_text(f"{GRAMMAR} {seed}", round(tokens * MAX_CHARS_PER_TOKEN))


def sentences(rng: random.Random) -> Iterator[str]:
    """Yield sentences without end."""
    while True:
        sentence = f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}"
        if rng.random() < 0.6:
            sentence += f" {rng.choice(TIMES)}"
        if rng.random() < 0.4:
            sentence += f", {rng.choice(REASONS)}"
        if rng.random() < 0.35:
            sentence = f"{rng.choice(LINKS)} {sentence}"
        if rng.random() < 0.15:
            sentence += f", and {rng.randint(*SECONDS)} seconds were {rng.choice(OUTCOMES)}"
        yield sentence[0].upper() + sentence[1:] + "."
