"""A real vLLM log (0.32 with a draft model, trimmed) read as it grows: samples, events, times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.base import Clock
from collectors.logs.line_time import line_time
from collectors.logs.log_collector import LogReader, log_collector, log_reader
from collectors.logs.log_view import NO_MARK, WINDOW_BYTES, LogTailView
from domain import Config, Run
from engines import BY_NAME
from engines.prefixes import YEARLESS
from samples import Event, LogSample

LOG = Path(__file__).parent.parent.parent / "fixtures" / "logs" / "vllm-0.32-draft.log"
NOW = datetime(2026, 11, 20, 19, 0, tzinfo=UTC)
FIXED = Clock(utc=lambda: NOW)


@pytest.fixture(autouse=True)
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """This machine's zone, UTC unless a test sets another."""

    def set_timezone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    set_timezone("UTC")
    yield set_timezone
    monkeypatch.undo()
    time.tzset()


def take(collector: Any, kept: Any, run: Run, *, last: bool = False) -> None:
    for batch in collector.finish(run) if last else collector.collect(run):
        kept(batch)


def test_stats_lines_become_samples_and_events(tmp_path: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(LOG.read_bytes())
    run = make_run("vllm", log_path=str(log))
    take(log_collector(kept.position, FIXED), kept, run, last=True)
    first = kept.of(LogSample)[0]
    assert (first.definition, first.generation_tps, first.requests_running) == ("vllm.log", 438.5, 4)
    assert first.acceptance_length == 1.02
    assert (first.ts, first.ts_source) == (datetime(2026, 11, 20, 18, 53, 10, tzinfo=UTC).astimezone(UTC), "stamp")
    assert len(kept.of(LogSample)) == LOG.read_text().count("Avg prompt throughput")
    facts = {e.data["key"]: e.data["value"] for e in kept.of(Event) if e.kind == "startup"}
    assert facts["max_model_len"] == 2048
    assert kept.position(run.id, str(log)).offset == log.stat().st_size


def test_samples_once_over_restarts_at_any_line(tmp_path: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    log, content = tmp_path / "server.log", LOG.read_bytes()
    run = make_run("vllm", log_path=str(log))
    log.touch()
    for start in range(0, len(content), 700):
        with log.open("ab") as file:
            file.write(content[start : start + 700])
        take(log_collector(kept.position, FIXED), kept, run)
    take(log_collector(kept.position, FIXED), kept, run, last=True)
    fresh = LogReader(BY_NAME["vllm"].log)  # type: ignore[arg-type]
    expected = [*fresh.feed(content, run, NOW), *fresh.close(run, NOW)]
    got = [s for batch in kept.batches for s in batch.samples]
    assert sorted(got, key=repr) == sorted((p.sample for p in expected), key=repr)


@given(cuts=st.lists(st.integers(0, 9000), max_size=6))
def test_the_cut_of_the_bytes_makes_no_difference(cuts: list[int]) -> None:
    content = LOG.read_bytes()
    run = Run(id="r", name="r", color=0, machine_id="m", config=Config(engine="vllm"), created_at=NOW)
    log_reader, many = LogReader(BY_NAME["vllm"].log), LogReader(BY_NAME["vllm"].log)  # type: ignore[arg-type]
    edges = sorted({0, len(content), *(min(cut, len(content)) for cut in cuts)})
    parts = [many.feed(content[a:b], run, NOW) for a, b in pairwise(edges)]
    pieces = [placed for part in parts for placed in part] + list(many.close(run, NOW))
    assert pieces == [*log_reader.feed(content, run, NOW), *log_reader.close(run, NOW)]


def test_truncated_line_reported_once_with_limit(make_run: Callable[..., Run]) -> None:
    reader = LogReader(BY_NAME["vllm"].log)  # type: ignore[arg-type]
    data = b"short\n" + 2 * (b"x" * 100_000 + b"\n")
    placed = [*reader.feed(data[:50_000], make_run(), NOW), *reader.feed(data[50_000:], make_run(), NOW)]
    placed += reader.close(make_run(), NOW)
    ((offset, told),) = placed
    assert isinstance(told, Event) and (told.kind, told.line, told.offset, offset) == ("warning", 2, 6, 6)
    assert told.text.startswith("Line 2 of the log is longer than the limit of 64 KiB: ")


def test_a_repeated_warning_is_told_once(make_run: Callable[..., Run]) -> None:
    line = b"[2026-11-20 19:09:11] Cuda graph is disabled because of using torch native attention backend\n"
    reader = log_reader(make_run("sglang"))
    placed = [*reader.feed(line * 3, make_run("sglang"), NOW), *reader.close(make_run("sglang"), NOW)]
    assert [p.sample.kind for p in placed if isinstance(p.sample, Event)] == ["warning"]


def test_unreadable_log_has_only_a_position(make_run: Callable[..., Run]) -> None:
    reader, run = log_reader(make_run("other")), make_run("other")
    assert [*reader.feed(b"ERROR\n\xff", run, NOW), *reader.idle(run, NOW), *reader.close(run, NOW)] == []
    assert reader.settled_offset() == 7


BEFORE = NOW - timedelta(minutes=5)
AHEAD = (NOW + timedelta(hours=5)).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("stamp", "elapsed_s", "fields", "expected"),
    [
        (BEFORE, None, {}, (BEFORE, "stamp")),
        (BEFORE.replace(year=YEARLESS), None, {}, (BEFORE, "stamp")),
        (NOW.replace(year=YEARLESS, month=12), None, {}, (NOW.replace(year=2025, month=12), "stamp")),
        (NOW.replace(year=YEARLESS, month=2, day=29), None, {}, (NOW.replace(2024, 2, 29), "stamp")),
        (None, 90.0, {"pid_started_at": BEFORE.timestamp()}, (BEFORE + timedelta(seconds=90), "elapsed")),
        (None, 9000.0, {"pid_started_at": BEFORE.timestamp()}, (NOW, "elapsed")),
        (None, 90.0, {}, (NOW, "read")),
        (None, None, {}, (NOW, "read")),
        (AHEAD, None, {}, (NOW, "read")),
        (BEFORE - timedelta(hours=2), None, {"started_at": BEFORE}, (NOW, "read")),
        (
            BEFORE - timedelta(hours=2),
            None,
            {"started_at": BEFORE, "kind": "attached"},
            (BEFORE - timedelta(hours=2), "stamp"),
        ),
    ],
    ids=[
        "with a zone",
        "no year",
        "no year, last December",
        "no year, 29 February",
        "elapsed",
        "elapsed is never ahead of now",
        "elapsed since a start that is not known",
        "nothing",
        "from the future in every zone",
        "older than the process",
        "older than the attached run",
    ],
)
def test_when_a_line_was_written(
    make_run: Callable[..., Run], stamp: Any, elapsed_s: Any, fields: dict[str, Any], expected: tuple[datetime, str]
) -> None:
    assert line_time(stamp, elapsed_s, make_run(**fields), NOW) == expected


def test_container_in_utc_on_a_machine_elsewhere(set_zone: Any, make_run: Callable[..., Run]) -> None:
    set_zone("America/New_York")
    run = make_run(started_at=NOW - timedelta(hours=1))
    local = datetime(2026, 11, 20, 13, 58)  # 18:58 UTC in New York's winter
    assert line_time(local, None, run, NOW) == (datetime(2026, 11, 20, 18, 58, tzinfo=UTC), "stamp")
    container = datetime(2026, 11, 20, 18, 58)
    assert line_time(container, None, run, NOW) == (datetime(2026, 11, 20, 18, 58, tzinfo=UTC), "stamp")


def test_view_shows_last_lines_with_marks(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    view = LogTailView(log, "vllm")
    assert view.lines() == []
    log.write_bytes(LOG.read_bytes())
    lines = view.lines(10)
    content = LOG.read_bytes()
    assert [content.count(b"\n", line["at"]) for line in lines] == list(range(10, 0, -1)), "each where it begins"
    marked = [line for line in view.lines() if line["kind"]]
    assert {"throughput", "acceptance"} <= {line["kind"] for line in marked}
    assert all(line["stamp"] for line in marked)
    with log.open("ab") as file:
        file.write(b"\x1b[31mred\x1b[0m 10%\r 99%\n")
    assert view.lines(1) == [{"at": len(content), "text": " 99%", **NO_MARK}]


def test_long_log_view_reads_only_the_end(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"".join(b"line %05d of a long log\n" % number for number in range(1, 20_001)))
    size = log.stat().st_size
    view = LogTailView(log, "other")
    assert view.lines(2) == [
        {"at": (number - 1) * len(b"line 00000 of a long log\n"), "text": f"line {number} of a long log", **NO_MARK}
        for number in (19_999, 20_000)
    ]
    log.write_bytes(b"new\n")
    assert view.lines(2) == [{"at": size, "text": "new", **NO_MARK}], "a reader that has the old ones sees it"
    with log.open("ab") as file:
        file.write(b"newer\n")
    assert [line["at"] for line in view.lines(2)] == [size, size + 4]


def test_probe_lines_are_hidden_and_keep_places(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    look = '(APIServer pid=1) INFO:     127.0.0.1:40404 - "GET /metrics HTTP/1.1" 200 OK'
    log.write_text(f"one\n{look}\n{look}\nfour\n{look}\n")
    view = LogTailView(log, "vllm")
    four = len(f"one\n{look}\n{look}\n")
    assert [(line["at"], line["text"]) for line in view.lines(2)] == [(0, "one"), (four, "four")]
    end = log.stat().st_size
    with log.open("a") as file:
        file.write("six\n")
    assert [line["at"] for line in view.lines(2)] == [four, end]


def test_a_view_of_gigabytes_reads_only_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "server.log"
    with log.open("wb") as file:
        file.truncate(5 << 30)  # a hole: no byte of it is on the disk
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe last line\n")
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *asked: read.append(asked[1]) or pread(*asked))
    assert LogTailView(log, "vllm").lines(1) == [{"at": (5 << 30) + 1, "text": "the last line", **NO_MARK}]
    assert sum(read) <= WINDOW_BYTES


def test_any_place_of_a_log_reads_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    texts = [f"line {number:0100}" for number in range(5_000)]
    log.write_text("".join(f"{text}\n" for text in texts))
    line, view = len(texts[0]) + 1, LogTailView(log, "other")
    size = len(texts) * line
    assert size > 2 * WINDOW_BYTES
    assert [line["text"] for line in view.lines(2, 0)] == texts[:2]
    assert view.shown_range == (0, 2 * line, size)
    assert [line["text"] for line in view.lines(2, 2 * line)] == texts[2:4], "on from there"
    assert [line["text"] for line in view.lines(2, 2 * line + 1)] == texts[3:5], "no half line"
    assert [line["text"] for line in view.lines(9, size - line)] == texts[-1:]
    assert view.shown_range == (size - line, size, size)
    assert view.lines(2, size) == [] and [line["text"] for line in view.lines(1)] == texts[-1:]
    seen, since = [], 0
    while since < size:
        seen += [line["at"] for line in view.lines(40, since)]
        assert view.shown_range
        since = view.shown_range.end
    assert seen == list(range(0, size, line)), "each line once, none left out"


def test_middle_of_gigabytes_read_without_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, middle = tmp_path / "server.log", 2 << 30
    with log.open("wb") as file:
        file.truncate(5 << 30)  # a hole: no byte of it is on the disk
        file.seek(middle)
        file.write(b"\nin the middle\n")
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *asked: read.append(asked[1]) or pread(*asked))
    assert LogTailView(log, "vllm").lines(1, middle)[0]["text"] == "in the middle"
    assert sum(read) <= WINDOW_BYTES
