"""Reads the level, the lengths and the depth that words state: 'c=8', 'pp512', 'ISL=1024', '1024 in / 128 out'."""

from __future__ import annotations

import re

from collectors.imports.results.builder import MeasurementPoint

AT_ONCE = re.compile(
    r"(?<![-\w])(?:c|conc|concurrency|max[_-]concurrency|parallel)(?: of| ?[=:])? ?(\d{1,6})\b(?![.,]?\d|k\b)"
    r"(?! ?(?:→|-{1,2}>|–|\.{2,3}|to) ?\d)"  # a range of levels is none
    r"|[(@]c(\d{1,6})\b"
    r"|(?<![\d.])(\d{1,6}) ?(?:并发|並發)"
    r"|\b(\d{1,6})(?:[- ]way)? \(?(?:concurrent|serial|sequential|parallel|simultaneous|users?|clients?|streams?"
    r"|sessions?)\b",
    re.IGNORECASE,
)
PROMPT = re.compile(
    r"\bpp ?(\d{2,7})\b(?!\.\d)|\b(?:isl|input(?:[ _-]len(?:gth)?)?) ?[=:] ?(\d{1,7})\b(?!k|[.,]?\d)", re.IGNORECASE
)
OUTPUT = re.compile(
    r"\btg ?(\d{1,7})\b(?!\.\d)|\b(?:osl|output(?:[ _-]len(?:gth)?)?) ?[=:] ?(\d{1,7})\b(?!k|[.,]?\d)", re.IGNORECASE
)
IN_AND_OUT = re.compile(
    r"\b(\d{1,7}) ?(?:in|input)\b(?: tokens)? ?[/,+x×&] ?(\d{1,7}) ?(?:out|output)\b"
    r"|\bin(?:put)?[ =:]?(\d{1,7}) ?[/,+x×&] ?out(?:put)?[ =:]?(\d{1,7})\b",
    re.IGNORECASE,
)
DEPTH = re.compile(r"(?:@ ?d|\bdepth ?[=:]? ?)(\d{1,8})\b(?!k)", re.IGNORECASE)


def point_of_words(name: str, *texts: str) -> MeasurementPoint:
    """Return a point with what its words state; what the first text states comes before what others do."""
    match = next((match for text in texts if (match := IN_AND_OUT.search(text))), None)
    lengths = [int(length) for length in match.groups() if length] if match else []
    return MeasurementPoint(
        name,
        _number_in(AT_ONCE, texts),
        lengths[0] if lengths else _number_in(PROMPT, texts),
        lengths[1] if lengths else _number_in(OUTPUT, texts),
        _number_in(DEPTH, texts),
    )


def _number_in(pattern: re.Pattern[str], texts: tuple[str, ...]) -> int | None:
    """Return the number that the first text with one states; None if it states several."""
    for text in texts:
        numbers = {next(group for group in match.groups() if group) for match in pattern.finditer(text)}
        if numbers:
            return int(numbers.pop()) if len(numbers) == 1 else None
    return None
