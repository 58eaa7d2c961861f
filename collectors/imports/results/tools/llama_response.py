"""Reads the `timings` of llama-server's responses: of an answer, of several, or the object alone.

A prompt's speed is that of the tokens that were not cached; the requests beside it are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile, parse_json
from collectors.imports.results.values import count, dict_of, text

TOOL = "llama-server"
NEEDED = ("prompt_per_second", "predicted_per_second")
PART = re.compile(r'\s{0,40}"timings"\s{0,9}:')  # of a response, copied alone
PHASES = {"prompt": ("prompt_tps", "prompt_ms"), "predicted": ("decode_tps", "decode_ms")}
DRAFTS = {"draft_n": "draft tokens", "draft_n_accepted": "accepted draft tokens"}
MAX_DEPTH = 6


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has both speeds of a response."""
    is_json = head.lstrip()[:1] in ("{", "[") or PART.match(head) is not None
    return is_json and all(f'"{name}"' in head for name in NEEDED)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of such a file; raises ImportRefusedError if it cannot be read completely."""
    values = list(_values(source))
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    models = {model for value in values if (model := text(dict_of(value).get("model")))}
    load.model = models.pop() if len(models) == 1 else None
    answers = [timings for value in values for timings in _timings_in(value)]
    for number, timings in enumerate(answers, 1):
        _add_answer(load, f"answer {number}" if len(answers) > 1 else "one answer", timings)
    if len(answers) == 1 and count(answers[0].get("cache_n")):
        load.params["cache_n"] = count(answers[0]["cache_n"])
    if not load.rows:
        raise source.refusal(1, "it has no timings of an answer")
    return [load]


def _values(source: ResultFile) -> Iterator[Any]:
    """Yield the JSON values of a file: one, its lines, or an object's part."""
    content = source.text().strip()
    if PART.match(content):
        yield parse_json(f"{{{content.removesuffix(',')}}}", source.name, 1)
    elif "\n{" in content and content.partition("\n")[0].endswith("}"):
        yield from (value for _, value in source.json_lines())
    else:
        yield source.json()


def _timings_in(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the timings within a value."""
    if isinstance(value, dict) and all(name in value for name in NEEDED):
        yield value
    elif depth < MAX_DEPTH and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _timings_in(inner, depth + 1)


def _add_answer(load: LoadBuilder, name: str, timings: Mapping[str, Any]) -> None:
    lengths = [count(timings.get(f"{phase}_n")) for phase in PHASES]
    point = MeasurementPoint(name, None, *lengths)
    for (phase, (speed, duration)), tokens in zip(PHASES.items(), lengths, strict=True):
        if tokens is None or tokens > 1:  # one token has no speed
            load.result(point, speed, STATED, timings[f"{phase}_per_second"])
            if f"{phase}_ms" in timings:
                load.result(point, duration, STATED, timings[f"{phase}_ms"])
    for key, words in DRAFTS.items():
        if count(timings.get(key)) is not None:
            load.result(point._replace(name=f"{name}: {words}"), STATED, "total", timings[key], unit="tokens")
