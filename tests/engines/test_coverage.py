"""Each engine's coverage.toml says what is read, and its captures prove it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import Engine, ParsedSample, StartupFact
from scripts.write_engine_docs import LOG_FORMATS, README, coverage_of, log_formats, readme

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    param: Engine = request.param
    return param


def test_every_metric_read_is_listed_once(engine: Engine) -> None:
    if engine.counters is None:
        assert "proven" not in coverage_of(engine.name)["counters"]
        return
    counters = coverage_of(engine.name)["counters"]
    listed = [name for names in counters["proven"].values() for name in names] + counters["unproven"]["names"]
    assert sorted(listed) == sorted({*engine.counters.METRIC_NAMES, *engine.counters.HISTOGRAM_NAMES})


def test_captures_show_the_metrics(engine: Engine) -> None:
    counters = coverage_of(engine.name)["counters"]
    captures = {path: (FIXTURES / path).read_text() for path in counters.get("proven", {})}
    for path, names in counters.get("proven", {}).items():
        missing = [name for name in names if not re.search(rf"^{re.escape(name)}[{{ ]", captures[path], re.MULTILINE)]
        assert missing == [], path
    shown_names = [
        name
        for name in counters.get("unproven", {}).get("names", ())
        if any(re.search(rf"^{re.escape(name)}[{{ ]", text, re.MULTILINE) for text in captures.values())
    ]
    assert shown_names == [], "a capture shows it: list it under that capture"


def test_captures_show_the_log_events(engine: Engine) -> None:
    assert engine.log
    for path, names in coverage_of(engine.name)["log"]["proven"].items():
        parser = engine.log.log_parser()
        events = [*parser.feed((FIXTURES / path).read_bytes()), *parser.close()]
        marks = {event.kind for event in events if not isinstance(event, StartupFact | ParsedSample)}
        facts = {event.key for event in events if isinstance(event, StartupFact)}
        samples = {"sample" for event in events if isinstance(event, ParsedSample)}
        assert {*names} == marks | facts | samples, path


def test_every_command_line_field_is_listed(engine: Engine) -> None:
    flags = importlib.import_module(f"engines.{engine.name}.flags")
    assert coverage_of(engine.name)["command_line"]["fields"] == sorted({key.field for key in flags.KEYS.values()})


def test_every_path_of_the_api_is_listed(engine: Engine) -> None:
    paths = {engine.ready_path, engine.metrics_path, engine.slots_path, *(path for path, _ in engine.version_paths)}
    if engine.tokenizer:
        paths |= {"/tokenize", engine.tokenizer.template_path}
    listed = {path for path in coverage_of(engine.name)["api"] if path != "/v1/models"}
    assert listed == paths - {None}


def test_what_is_not_read_has_a_reason(engine: Engine) -> None:
    coverage = coverage_of(engine.name)
    entries = [entry for part in ("counters", "log", "command_line") for entry in coverage[part]["not_read"]]
    assert len(entries) > 2 and all(what and why for what, why in entries)


def test_documents_are_fresh() -> None:
    """`.venv/bin/python -m scripts.write_engine_docs` writes them."""
    assert readme(README.read_text()) == README.read_text()
    assert log_formats(LOG_FORMATS.read_text()) == LOG_FORMATS.read_text()
