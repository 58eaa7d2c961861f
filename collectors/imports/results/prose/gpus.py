"""Reads the GPU that a text names, with the number of them, where it names only one: '2x H100', 'dual RTX 3090'."""

from __future__ import annotations

import re

_NAME = (
    r"RTX (?:PRO )?\d{4}(?: ?(?:Ti|SUPER|D|Ada|Blackwell|Max-Q|Laptop|Mobile)\b){0,3}|RTX A\d{4}"
    r"|GTX \d{4}(?: Ti\b)?|RX \d{4}(?: XTX?\b)?"
    r"|GH200|G?B[23]00|GB10|H(?:20|100|200|800)|A(?:10G?|16|30|40|100|800|6000)|L(?:4|20|40[Ss]?)|V100|T4"
    r"|Tesla [PTKM]\d{1,3}|MI\d{2,3}[AX]?|Arc (?:Pro )?[AB]\d{2,3}|M[1-9] (?:Max|Ultra|Pro)\b|DGX Spark|Strix Halo"
)
_CARD = r"(?:30[6-9]0|40[6-9]0|50[6-9]0)(?: ?(?:Ti|SUPER)\b)?"  # without its family, behind a count
_COUNTS = {"single": 1, "dual": 2, "two": 2, "triple": 3, "three": 3, "quad": 4, "four": 4, "eight": 8}
_GPU = re.compile(
    rf"(?<![\w./-])(?:(?P<count>\d{{1,3}} ?[x×]|(?:{'|'.join(_COUNTS)})\b) ?)?"
    r"(?:(?:NVIDIA|AMD|Intel|Apple|GeForce|Radeon|Instinct) ){0,2}"
    rf"(?:(?P<name>{_NAME})|(?(count)(?P<card>{_CARD})|(?!)))"
    r"(?:[ -](?:SXM\d?|PCIe|NVL)\b)?(?:[ -]\d{2,3} ?GB\b)?s?(?: ?[x×] ?(?P<late_count>\d{1,2}))?(?![\w%/.-]\w|\w)"
    r"(?! ?(?:tok|t/s|ms\b|s\b))"
)
_FAMILY = "RTX "
_QUOTES = ('"', "\u201d")
_READS = re.compile(r"\b(?:reads?|says?|labell?ed|marked|named|called) [\"\u201c]$", re.IGNORECASE)
MOST_CHARS_BEFORE = 20


def gpu_of(text: str) -> str | None:
    """Return the only GPU that a text names, behind their number if it states a single one; None for several."""
    matches = [match for match in _GPU.finditer(text) if not _is_quoted(text, match)]
    names = {match["name"] or f"{_FAMILY}{match['card']}" for match in matches}
    names = {"L40S" if name == "L40s" else name for name in names}  # of NVIDIA's, the plural is the rarer meaning
    longest = max(names, key=len, default="")
    is_alone = all(set(name.split()) <= set(longest.split()) for name in names)
    counts = {count for match in matches if (count := _count_of(match))}
    count = counts.pop() if len(counts) == 1 else 1
    return (f"{count}x {longest}" if count > 1 else longest) if names and is_alone else None


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Return whether a text quotes a name from some of its rows: 'rows that read "2x RTX 3090"'."""
    before = text[max(0, match.start() - MOST_CHARS_BEFORE) : match.start()]
    return _READS.search(before) is not None and text[match.end() :].startswith(_QUOTES)


def _count_of(match: re.Match[str]) -> int | None:
    """Return the number of GPUs that stands before or behind their name."""
    words = match["late_count"] or (match["count"] or "").rstrip("x× ")
    return int(words) if words.isdecimal() else _COUNTS.get(words.lower())
