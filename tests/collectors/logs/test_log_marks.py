"""A line of a live log is parsed once: the view shows the marks that the collector's parser made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.base import Clock
from collectors.logs import log_marks
from collectors.logs.log_collector import log_collector
from collectors.logs.log_marks import LIVE_MARKS, MAX_LOGS, LogMarks, ParsedLog
from collectors.logs.log_view import LogTailView, ViewLine
from domain import Run
from engines.base import LogMark
from engines.vllm import log as vllm_log

LOG = Path(__file__).resolve().parents[2] / "fixtures" / "logs" / "vllm-0.32-draft.log"


def collect(run: Run, kept: Any) -> None:
    for batch in log_collector(kept.position, Clock()).collect(run):
        kept(batch)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(LOG.read_bytes())
    return path


def parsed_here(log: Path) -> list[ViewLine]:
    """The lines as a view shows them that parses by itself."""
    copy = log.with_name("copy.log")
    copy.write_bytes(log.read_bytes())
    return LogTailView(copy, "vllm").lines(10_000)


def test_view_of_a_live_log_parses_nothing(
    log: Path, kept: Any, make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = parsed_here(log)
    collect(make_run("vllm", log_path=str(log)), kept)
    monkeypatch.setattr(vllm_log, "log_parser", lambda: pytest.fail("the view parsed the log again"))
    lines = LogTailView(log, "vllm").lines(10_000)
    assert lines == expected and {"throughput", "acceptance"} <= {line["kind"] for line in lines}


def test_lines_get_marks_after_parsing(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    content = log.read_bytes()
    half = content.rfind(b"\n", 0, len(content) // 2) + 1
    log.write_bytes(content[:half])
    run, view = make_run("vllm", log_path=str(log)), LogTailView(log, "vllm")
    collect(run, kept)
    with log.open("ab") as file:
        file.write(content[half:])
    view.lines(10_000)  # before the collector has read the new lines
    collect(run, kept)
    assert view.lines(10_000) == parsed_here(log)


def test_a_replaced_log_starts_again(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run = make_run("vllm", log_path=str(log))
    collect(run, kept)
    log.write_bytes(LOG.read_bytes()[:2000])
    collect(run, kept)
    assert LIVE_MARKS.parsed_to(str(log)) <= 2000


def test_only_the_end_of_a_long_log_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_marks, "TAIL_BYTES", 100)
    parsed = ParsedLog()
    parsed.add([LogMark(line, line * 10, "warning", "w") for line in range(50)], 500)
    assert parsed.marks_between(0, 500) is None and parsed.marks_between(400, 500) is not None
    assert len(parsed.marks_between(400, 500) or ()) == 10
    assert parsed.marks_between(450, 500 + log_marks.MAX_BEHIND_BYTES + 1) is None, (
        "far behind the file: the view parses itself"
    )


def test_only_the_last_logs_are_kept() -> None:
    marks = LogMarks()
    for number in range(MAX_LOGS + 1):
        marks.start_log(f"{number}.log")
    assert marks.marks_between("0.log", 0, 0) is None and marks.marks_between("1.log", 0, 0) == {}
