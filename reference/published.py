"""Configurations and numbers published by others: data with source and line, never measured here, never ranked."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DIMENSIONS = {
    "concurrency": "{} at once",
    "pp": "{} prompt tokens",
    "tg": "{} generated",
    "depth": "depth {}",
    "prompt": "{}",
    "run": "run {}",
    "phase": "{}",
    "request": "request {}",
    "node": "node {}",
    "band": "{} band",
    "workload": "{}",
    "category": "{}",
    "versus": "over {}",
}
METRIC_WORDS = {
    "accept": "acceptance",
    "gen": "generation",
    "tps": "speed",
    "kv": "KV",
    "ttft": "time to first token",
    "ttfr": "time to first response",
    "tg": "generation",
    "pp": "prompt",
    "req": "per request",
    "e2e": "end-to-end",
    "vram": "VRAM",
    "gpu": "GPU",
    "mmlu": "MMLU",
    "gpqa": "GPQA",
    "est": "estimated",
    "ppt": "prompt time",
    "bf16": "BF16",
    "swa": "SWA",
    "v1": "/v1",
    "models": "models",
}
BOUNDS = {"": "", ">": "above", ">=": "at least", "<": "below"}
UNITS = {"token": "tokens", "token/step": "tokens/step", "x": "at once"}
UNIT_ENDINGS = ("_ms", "_mb", "_s")


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """One published document."""

    id: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Number:
    """One printed number; `value` is the text as printed."""

    id: str
    metric: str
    value: str
    unit: str
    bound: str  # 'above', 'at least', 'below', 'about' or '': the source's hedge
    conditions: Mapping[str, str]  # keys from DIMENSIONS
    line: int
    definition: str | None = None  # of the metric in that engine and version, if known

    @property
    def unit_words(self) -> str:
        """The unit in words, as in '876,000 tokens' or '11.57 at once'."""
        return UNITS.get(self.unit, self.unit)

    @property
    def title(self) -> str:
        """The metric in words: 'Decode speed peak'."""
        metric = self.metric
        for ending in UNIT_ENDINGS:
            metric = metric.removesuffix(ending)
        words = " ".join(METRIC_WORDS.get(word, word) for word in metric.split("_"))
        return words[:1].upper() + words[1:]

    @property
    def condition(self) -> str:
        """The measurement conditions, as in '4 at once, 128 generated'; empty if the source states none."""
        return ", ".join(DIMENSIONS[name].format(value) for name, value in self.conditions.items())


@dataclass(frozen=True, slots=True)
class PublishedConfig:
    """One configuration as its source states it, with every number printed for it."""

    id: str
    source: PublishedSource
    label: str
    hardware: str
    fields: Mapping[str, tuple[str, int]]  # name -> value and line
    numbers: tuple[Number, ...]

    def find(self, *metrics: str) -> Number | None:
        """Return the first number of the first of these metrics that the source prints."""
        return next((number for metric in metrics for number in self.numbers if number.metric == metric), None)


def load_sources() -> list[dict[str, Any]]:
    """Return the documents: id, title, sha256."""
    return _json("sources.json")


@cache
def load_published() -> dict[str, PublishedConfig]:
    """Return every configuration by id, in the order of the sources."""
    sources = {source["id"]: PublishedSource(**source) for source in load_sources()}
    numbers: dict[str, list[Number]] = {}
    for row in _rows("measurements.csv"):
        numbers.setdefault(row["config"], []).append(_number(row))
    configs: dict[str, PublishedConfig] = {}
    for row in _rows("configurations.csv"):
        key = row["config"]
        if key not in configs:
            config_numbers = tuple(numbers.get(key, ()))
            configs[key] = PublishedConfig(
                key, sources[row["source"]], row["label"], row["hardware"], {}, config_numbers
            )
        fields = configs[key].fields
        assert isinstance(fields, dict)
        fields[row["field"]] = (row["value"], int(row["line"]))
    return configs


@cache
def numbers_by_id() -> dict[str, Number]:
    """Return every number by the id of its row."""
    return {row["id"]: _number(row) for row in _rows("measurements.csv")}


def _number(row: Mapping[str, str]) -> Number:
    conditions = {name: row[name] for name in DIMENSIONS if row[name]}
    bound = BOUNDS[row["comparator"]] or ("about" if row["approximate"] else "")
    fields = row["id"], row["metric"], row["value"], row["unit"], bound, conditions, int(row["line"])
    return Number(*fields, row["definition"] or None)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _json(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return rows
