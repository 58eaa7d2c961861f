"""Changes to bytes, JSON and TOML that no honest program makes; a seed of `Random` repeats them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NUMBER = re.compile(rb"\d+(?:\.\d+)?")
DATE = re.compile(rb"\d{4}-\d{2}-\d{2}")
WORD = re.compile(rb"\"[^\"\n]*\"|\w+")
NUMBERS = (
    b"1e308",
    b"-1",
    b"NaN",
    b"Infinity",
    b"9" * 400,
    b"9" * 5000,
    b"0",
    b"1e-320",
    b"9223372036854775808",
    b"0x1p3",
)
DATES = (b"0000-00-00", b"0001-01-01", b"9999-12-31", b"12015-06-01", b"287000-01-01", b"2026-02-30", b"1969-12-31")
WORDS = (b'"\\ud800"', b"\xed\xa0\x80", b"\x00", b"\xff\xfe", b"null", b"[]", b"{}", b"true", b'""', b"-", b"\x1b[31m")
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, float("nan"), float("inf"), 10**400, 2**63, "", "\x00", "\ud800", "9999-12-31",
    "x" * 5000, [], {}, [[]], {"": None}, [None] * 50, "NaN", -0.5, "-1", "1e999", "2026-02-30T25:61:61Z",
)  # fmt: skip
LONG_LINE_BYTES = 300_000
DEPTH = 3000


# --- bytes ------------------------------------------------------------------------------------------------------------
def flipped(data: bytes, random: Random) -> bytes:
    """Flip a bit of some bytes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 20)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def shortened(data: bytes, random: Random) -> bytes:
    """Delete a part of up to 200 bytes."""
    place = random.randrange(len(data))
    return data[:place] + data[place + random.randint(1, 200) :]


def cut(data: bytes, random: Random) -> bytes:
    """Keep only the beginning."""
    return data[: random.randrange(len(data))]


def with_repeated_lines(data: bytes, random: Random) -> bytes:
    """Repeat a line, or swap two."""
    lines = data.splitlines(keepends=True)
    place, other_number = random.randrange(len(lines)), random.randrange(len(lines))
    if random.random() < 0.5:
        lines[place : place + 1] = [lines[place]] * random.choice((2, 50))
    else:
        lines[place], lines[other_number] = lines[other_number], lines[place]
    return b"".join(lines)


def with_long_line(data: bytes, random: Random) -> bytes:
    """Insert many equal bytes into a line."""
    place = random.randrange(len(data))
    return data[:place] + random.choice((b"a", b" ", b"9", b"[", b"\\", b'"')) * LONG_LINE_BYTES + data[place:]


def nested_deeply(data: bytes, random: Random) -> bytes:
    """Replace a word by brackets within brackets."""
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")")))
    return _replaced(data, WORD, (opening * DEPTH + b"1" + closing * DEPTH,), random, most=1)


def with_other_numbers(data: bytes, random: Random) -> bytes:
    """Replace numbers by impossible ones."""
    return _replaced(data, NUMBER, NUMBERS, random, most=5)


def with_other_dates(data: bytes, random: Random) -> bytes:
    """Replace dates by impossible ones; numbers where there is no date."""
    return _replaced(data, DATE if DATE.search(data) else NUMBER, DATES, random, most=3)


def with_other_words(data: bytes, random: Random) -> bytes:
    """Replace words by NULs, lone surrogates and values of other types."""
    return _replaced(data, WORD, WORDS, random, most=5)


def _replaced(
    data: bytes, pattern: re.Pattern[bytes], replacements: Sequence[bytes], random: Random, most: int
) -> bytes:
    spans = [match.span() for match in pattern.finditer(data)]
    for start, end in sorted(random.sample(spans, min(len(spans), random.randint(1, most))), reverse=True):
        data = data[:start] + random.choice(replacements) + data[end:]
    return data


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    flipped, shortened, cut, with_repeated_lines, with_long_line, nested_deeply, with_other_numbers, with_other_dates,
    with_other_words, with_other_numbers, with_other_words,
)  # fmt: skip


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Change bytes in one or two ways."""
    for change in random.sample(CHANGES, random.choice((1, 1, 2))):
        if data:
            data = change(data, random)
    return data


# --- JSON -------------------------------------------------------------------------------------------------------------
def mutated_value(value: Any, random: Random) -> Any:
    """Return a copy of a JSON value, one or some of whose parts have another value or are missing."""
    changed = json.loads(json.dumps(value))
    for _ in range(random.choice((1, 1, 3))):
        changed = _with_change(changed, random)
    return changed


def _with_change(value: Any, random: Random) -> Any:
    places = _places(value)
    if not places:
        return copy.deepcopy(random.choice(VALUES))
    container, key = random.choice(places)
    if random.random() < 0.15:
        del container[key]
    elif random.random() < 0.1 and isinstance(container, dict):
        container["unknown\ud800"] = container.pop(key)
    else:
        container[key] = copy.deepcopy(random.choice(VALUES))
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def mutated_json(data: bytes, random: Random) -> bytes:
    """Change a JSON document by its values, or as bytes."""
    if random.random() < 0.4:
        return mutated_bytes(data, random)
    return json.dumps(mutated_value(json.loads(data), random)).encode()


def mutated_json_lines(data: bytes, random: Random) -> bytes:
    """Change one line of a document of JSON lines by its values, or all as bytes."""
    lines = data.splitlines(keepends=True)
    place = random.randrange(len(lines))
    if random.random() < 0.4:
        return mutated_bytes(data, random)
    lines[place] = mutated_json(lines[place], random) + b"\n"
    return b"".join(lines)


def mutated_document(name: str, data: bytes, random: Random) -> bytes:
    """Change a document as its file name tells."""
    if not data:
        return mutated_bytes(b"\n", random)
    try:
        if name.endswith(".json"):
            return mutated_json(data, random)
        if name.endswith(".jsonl"):
            return mutated_json_lines(data, random)
    except ValueError:  # JSON lines under the name of JSON
        pass
    return mutated_bytes(data, random)


# --- TOML -------------------------------------------------------------------------------------------------------------
TOML_VALUES = (
    b"nan", b"inf", b"-inf", b"1e308", b"-1", b"9" * 400, b"9" * 5000, b'""', b"[]", b"{}", b"true", b"9999-12-31",
    b"2026-02-30", b"0001-01-01T00:00:00Z", b'"\\u0000"', b'"\\uD800"', b"[" * 2000 + b"]" * 2000,
    b"'" + b"x" * 9000 + b"'",
    b"25:61:00", b"{a.b.c = 1}", b"[{}]", b'"%s {} {0}"', b"0x" + b"f" * 5000,
)  # fmt: skip
TOML_LINE = re.compile(rb"^(\s*[\w.\"'-]+\s*=\s*)(.*)$", re.MULTILINE)


def mutated_toml(data: bytes, random: Random) -> bytes:
    """Change values of a TOML document, or its bytes."""
    if random.random() < 0.4:
        return mutated_bytes(data, random)
    lines = list(TOML_LINE.finditer(data))
    chosen = random.sample(lines, min(len(lines), random.choice((1, 1, 2))))
    for line in sorted(chosen, key=re.Match.start, reverse=True):
        data = data[: line.start(2)] + random.choice(TOML_VALUES) + data[line.end(2) :]
    return data
