"""The sources behind a run's numbers, as a page names them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run
from engines.vllm.definitions import COUNTER, LOG
from reports.runs.evidence import Evidence, SourceAgreement, evidence_of
from reports.runs.run_report import report_on
from samples import Batch, CounterSample, LogSample, Sample, SlotSample
from settings import Settings
from storage.queries import run_data
from storage.store import Store
from web.compare.run_tiles import evidence_table
from web.compare.sources.source_line import (
    silence_cell,
    silence_text,
    source_line,
    standing_cell,
    standing_reason,
    standing_text,
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
    return Evidence(run, run_data.sources(store, ["r1"])["r1"], run_data.crosschecks(store, ["r1"])["r1"], no_counters)


def standing_words(evidence: Evidence) -> tuple[str, str | None]:
    return standing_text(evidence), standing_reason(evidence)


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
    actual_evidence = evidence(store, *counters(60), *lines(*rates))
    assert (standing_text(actual_evidence), actual_evidence.agreement is SourceAgreement.DISAGREE) == (
        sentence,
        disagrees,
    )
    assert ('class="pw-doubt"' in source_line(actual_evidence)) is disagrees


def test_counter_gaps_are_not_held_against_them(store: Store) -> None:
    actual_evidence = evidence(store, *counters(5), *lines(100.0))
    assert standing_text(actual_evidence) == "log and counters cannot be compared"


@pytest.mark.parametrize(
    ("log_path", "why"),
    [
        (None, "it has no log that Pitwall can read"),
        ("/var/log/x", "its log states no speed"),
    ],
)
def test_counters_alone(store: Store, log_path: str | None, why: str) -> None:
    actual_evidence = evidence(store, *counters(5), run=RUN.model_copy(update={"log_path": log_path}))
    assert standing_words(actual_evidence) == ("counters only", why)


def test_counters_and_slots_are_both_named(store: Store) -> None:
    slot = SlotSample("r1", NOW, 1.0, 0, 1, True, 5, 9, 100)
    assert standing_text(evidence(store, *counters(5), slot)) == "counters and slots only"


def test_a_log_alone_says_why(store: Store) -> None:
    actual_evidence = evidence(store, *lines(100.0), no_counters="/metrics is switched off")
    assert standing_words(actual_evidence) == ("log only", "/metrics is switched off")
    assert "Log only: /metrics is switched off." in source_line(actual_evidence)


def test_nothing_at_all(store: Store) -> None:
    assert standing_words(evidence(store)) == ("neither counters nor a log state its speed", None)


def test_definitions_come_with_their_formulas(store: Store) -> None:
    actual_evidence = evidence(store, *counters(60), *lines(100.0))
    line = source_line(actual_evidence)
    assert line.startswith('<p class="pw-muted">Sources: counters <abbr title="') and ">vllm.log</abbr>" in line
    assert "decode_tps: (Δ generation tokens" in line and "tokens_per_step: unknown: the log has no step" in line


def test_few_words_of_it_keep_the_reason(store: Store) -> None:
    actual_evidence = evidence(store, *lines(100.0), no_counters="/metrics <is> off")
    assert standing_cell(actual_evidence) == (
        '<span class="pw-muted"><abbr title="/metrics &lt;is&gt; off">log only</abbr></span>'
    )


def test_imported_run_has_no_endpoint_to_blame(store: Store) -> None:
    actual_evidence = evidence(store, *lines(100.0), run=RUN.model_copy(update={"kind": "imported"}))
    assert standing_words(actual_evidence) == ("log only", None)


def test_unwatched_counts_are_mentioned(store: Store) -> None:
    evidence(store, *counters(3, 108, 109, 110))
    [found] = evidence_of(store, [RUN])
    assert "In no interval: 10,600 of 11,000 tokens, over 1:46. The counters were not read" in source_line(found)
    assert silence_cell(found).startswith(
        '<abbr title="The counters were not read'
    ) and "10,600 of 11,000" in silence_cell(found)
    [report] = report_on(store, [RUN])
    assert "In no interval" in evidence_table([report], [found], {})


def test_restart_losses_are_shown_on_both_pages(store: Store) -> None:
    """Nobody can tell how far the counters had come, so there is no sum either."""
    before, after = counters(5), [replace(counter, process_start_s=900.0) for counter in counters(7)[5:]]
    evidence(store, *(replace(one, process_start_s=100.0) for one in before), *after)
    [found] = evidence_of(store, [RUN])
    text = (
        "In no interval: the counts of 1 interval. The server was, or may have been, restarted between these readings"
    )
    assert text in source_line(found) and "The counters were not read" not in source_line(found)
    assert silence_cell(found).startswith('<abbr title="The server was') and "of 1 interval<" in silence_cell(found)
    [report] = report_on(store, [RUN])
    assert "the counts of 1 interval" in evidence_table([report], [found], {})


def test_lost_intervals_beside_silent_tokens(store: Store) -> None:
    silent = counters(3, 108, 109)
    restarted = [replace(counter, process_start_s=float(n)) for n, counter in enumerate(counters(116)[110:])]
    evidence(store, *silent, *restarted, run=RUN.model_copy(update={"kind": "launched"}))
    [found] = evidence_of(store, [RUN])
    assert found.silence and silence_text(found.silence).startswith("10,600 tokens, over 1:46; ")
    assert silence_text(found.silence).endswith("the counts of 5 intervals")
    assert "The counters were not read" in source_line(found) and "restarted between" in source_line(found)


def test_full_coverage_shows_no_note(store: Store) -> None:
    evidence(store, *counters(60))
    [found] = evidence_of(store, [RUN])
    assert "In no interval" not in source_line(found) and silence_cell(found) == "nothing"
    [report] = report_on(store, [RUN])
    assert "In no interval" not in evidence_table([report], [found], {})


def test_run_without_counters_claims_no_coverage(store: Store) -> None:
    evidence(store, *lines(100.0))
    [found] = evidence_of(store, [RUN])
    assert "its counters were not read" in silence_cell(found) and "nothing" not in silence_cell(found)
