"""What a page says of the sources behind a run's numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run
from engines.vllm.definitions import COUNTER, LOG
from reports.runs.evidence import Evidence, Standing, evidence_of
from reports.runs.run_report import report_on
from samples import Batch, CounterSample, LogSample, Sample, SlotSample
from settings import Settings
from storage.ask import queries
from storage.store import Store
from web.compare.comparison import evidence_table
from web.compare.sources.source_line import (
    silence_cell,
    silence_words,
    source_line,
    standing_cell,
    standing_reason,
    standing_words,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RUN = Run(id="r1", name="<b>r1</b>", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = Store.open(Settings(data_dir=tmp_path))
    opened.set_definitions([*COUNTER, *LOG])
    yield opened
    opened.close()


def counters(seconds: int, *later: int) -> list[Sample]:
    """100 tok/s, scraped once a second, and again at some later seconds."""
    return [
        CounterSample("r1", NOW + timedelta(seconds=s), float(s), "vllm.counter", generation_tokens_total=100.0 * s,
                      first_tokens_total=1.0, requests_running=1.0)
        for s in (*range(seconds), *later)
    ]  # fmt: skip


def lines(*rates: float) -> list[Sample]:
    """A line after each 10 s."""
    return [
        LogSample("r1", NOW + timedelta(seconds=10 * i), i, i, "vllm.log", window_s=10.0, generation_tps=rate)
        for i, rate in enumerate(rates, 1)
    ]


def evidence(store: Store, *samples: Sample, run: Run = RUN, no_counters: str | None = None) -> Evidence:
    store.write(Batch(samples))
    store.save_run(run)
    return Evidence(run, queries.sources(store, ["r1"])["r1"], queries.crosschecks(store, ["r1"])["r1"], no_counters)


def said(found: Evidence) -> tuple[str, str | None]:
    return standing_words(found), standing_reason(found)


@pytest.mark.parametrize(
    ("rates", "disagrees", "sentence"),
    [
        ((100.0, 98.0, 50.0), False, "log and counters agree within 2.1 % (median of 3 windows)"),
        ((100.0, 80.0, 50.0), True, "log and counters disagree by 25.0 % (median of 3 windows)"),
        ((95.0,), True, "log and counters disagree by 5.3 % (1 window)"),
        ((100.0,), False, "log and counters agree within 0.1 % (1 window)"),
    ],
)
def test_log_and_counters_of_the_same_windows(
    store: Store, rates: tuple[float, ...], disagrees: bool, sentence: str
) -> None:
    found = evidence(store, *counters(60), *lines(*rates))
    assert (standing_words(found), found.standing is Standing.DISAGREE) == (sentence, disagrees)
    assert ('class="pw-doubt"' in source_line(found)) is disagrees


def test_what_no_counters_cover_is_not_held_against_them(store: Store) -> None:
    found = evidence(store, *counters(5), *lines(100.0))
    assert standing_words(found) == "log and counters cannot be held against each other"


@pytest.mark.parametrize(
    ("log_path", "why"),
    [
        (None, "it has no log that Pitwall can read"),
        ("/var/log/x", "its log states no speed"),
    ],
)
def test_counters_alone(store: Store, log_path: str | None, why: str) -> None:
    found = evidence(store, *counters(5), run=RUN.model_copy(update={"log_path": log_path}))
    assert said(found) == ("known by its counters", why)


def test_counters_and_slots_are_both_named(store: Store) -> None:
    slot = SlotSample("r1", NOW, 1.0, 0, 1, True, 5, 9, 100)
    assert standing_words(evidence(store, *counters(5), slot)) == "known by its counters and slots"


def test_a_log_alone_says_why(store: Store) -> None:
    found = evidence(store, *lines(100.0), no_counters="/metrics is switched off")
    assert said(found) == ("known only by its log", "/metrics is switched off")
    assert "Known only by its log: /metrics is switched off." in source_line(found)


def test_nothing_at_all(store: Store) -> None:
    assert said(evidence(store)) == ("neither counters nor a log give its speed", None)


def test_definitions_come_with_their_formulas(store: Store) -> None:
    found = evidence(store, *counters(60), *lines(100.0))
    line = source_line(found)
    assert line.startswith('<p class="pw-muted">Sources: counters <abbr title="') and ">vllm.log</abbr>" in line
    assert "decode_tps: (Δ generation tokens" in line and "tokens_per_step: unknown: the log has no step" in line


def test_few_words_of_it_keep_the_reason(store: Store) -> None:
    found = evidence(store, *lines(100.0), no_counters="/metrics <is> off")
    assert standing_cell(found) == (
        '<span class="pw-muted"><abbr title="/metrics &lt;is&gt; off">known only by its log</abbr></span>'
    )


def test_an_imported_run_has_no_endpoints_to_blame(store: Store) -> None:
    found = evidence(store, *lines(100.0), run=RUN.model_copy(update={"kind": "imported"}))
    assert said(found) == ("known only by its log", None)


def test_what_was_counted_while_nobody_looked_is_said(store: Store) -> None:
    evidence(store, *counters(3, 108, 109, 110))
    [found] = evidence_of(store, [RUN])
    assert "In no interval: 10,600 of 11,000 tokens, over 1:46. Nobody looked at the counters" in source_line(found)
    assert silence_cell(found).startswith('<abbr title="Nobody looked') and "10,600 of 11,000" in silence_cell(found)
    [report] = report_on(store, [RUN])
    assert "In no interval" in evidence_table([report], [found], {})


def test_what_a_restart_took_is_said_on_both_pages(store: Store) -> None:
    """Nobody can tell how far the counters had come, so there is no sum either."""
    before, after = counters(5), [replace(one, process_start_s=900.0) for one in counters(7)[5:]]
    evidence(store, *(replace(one, process_start_s=100.0) for one in before), *after)
    [found] = evidence_of(store, [RUN])
    said = "In no interval: what was counted in 1 interval. A restart of the server lies between these looks"
    assert said in source_line(found) and "Nobody looked" not in source_line(found)
    assert silence_cell(found).startswith('<abbr title="A restart') and "in 1 interval<" in silence_cell(found)
    [report] = report_on(store, [RUN])
    assert "what was counted in 1 interval" in evidence_table([report], [found], {})


def test_intervals_lost_are_counted_beside_the_tokens_of_a_silence(store: Store) -> None:
    silent = counters(3, 108, 109)
    restarted = [replace(one, process_start_s=float(n)) for n, one in enumerate(counters(116)[110:])]
    evidence(store, *silent, *restarted, run=RUN.model_copy(update={"kind": "launched"}))
    [found] = evidence_of(store, [RUN])
    assert found.silence and silence_words(found.silence).startswith("10,600 tokens, over 1:46; ")
    assert silence_words(found.silence).endswith("what was counted in 5 intervals")
    assert "Nobody looked" in source_line(found) and "A restart" in source_line(found)


def test_where_somebody_always_looked_nothing_is_said(store: Store) -> None:
    evidence(store, *counters(60))
    [found] = evidence_of(store, [RUN])
    assert "In no interval" not in source_line(found) and silence_cell(found) == "nothing"
    [report] = report_on(store, [RUN])
    assert "In no interval" not in evidence_table([report], [found], {})


def test_a_run_without_counters_is_not_said_to_lack_nothing(store: Store) -> None:
    evidence(store, *lines(100.0))
    [found] = evidence_of(store, [RUN])
    assert "no counters were read of it" in silence_cell(found) and "nothing" not in silence_cell(found)
