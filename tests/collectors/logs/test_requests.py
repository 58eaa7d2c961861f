"""A workload's requests: all of them once, whatever is in between and whoever is killed."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import TypeAdapter

from collectors.base import Clock
from collectors.logs.requests import request_collector
from domain import Run
from load_records import RequestRecord
from samples import Event

CHILD = Path(__file__).parent / "tail_child.py"
ROOT = Path(__file__).parent.parent.parent.parent


def record(number: int, run_id: str = "r1") -> bytes:
    request = RequestRecord(
        run_id=run_id,
        request_id=str(number),
        workload="demo-stream",
        phase="measure",
        prompt_class="predictable",
        stream=0,
        concurrency=1,
        sent_at=datetime(2026, 11, 20, 12, 0, 0, 250_000, tzinfo=UTC),
        ttft_ms=12.5,
        completion_tokens=number,
        extra={"collapse": "none"},
    )
    return TypeAdapter(RequestRecord).dump_json(request) + b"\n"


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    (tmp_path / "workload").mkdir()
    return tmp_path / "workload" / "requests.jsonl"


def test_a_record_comes_back_as_it_was(requests: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    collector, run = request_collector(kept.position), make_run(run_dir=str(requests.parent.parent))
    requests.write_bytes(record(7))
    for batch in collector.collect(run):
        kept(batch)
    (got,) = kept.of(RequestRecord)
    assert got.sent_at == datetime(2026, 11, 20, 12, 0, 0, 250_000, tzinfo=UTC)
    assert (got.completion_tokens, got.ttft_ms, got.decode_ms, got.extra) == (7, 12.5, None, {"collapse": "none"})
    assert asdict(got) == asdict(TypeAdapter(RequestRecord).validate_json(record(7)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{not json}\n", "line 2 .* not understood: the line: Invalid JSON"),
        (b'{"run_id": "r1"}\n', "line 2 .* not understood: request_id: Field required"),
        (record(9, "another"), "line 2 .* not understood: it belongs to run another"),
        (b"\xff\xfe\x00\n", "line 2 .* not understood"),
    ],
)
def test_malformed_line_reported_and_next_is_read(
    requests: Path, kept: Any, make_run: Callable[..., Run], line: bytes, said: str
) -> None:
    import re

    collector, run = request_collector(kept.position), make_run(run_dir=str(requests.parent.parent))
    requests.write_bytes(record(1) + line + b"\n" + record(2))
    for batch in collector.finish(run):
        kept(batch)
    assert [r.request_id for r in kept.of(RequestRecord)] == ["1", "2"]
    (event,) = kept.of(Event)
    assert event.kind == "warning" and re.search(said, event.text), event.text
    assert (event.line, event.offset) == (2, len(record(1)))


def test_a_run_without_a_folder_has_no_requests(kept: Any, make_run: Callable[..., Run]) -> None:
    assert list(request_collector(kept.position, Clock()).finish(make_run())) == []


@pytest.mark.wide
def test_repeated_kills_store_each_request_once(requests: Path, tmp_path: Path) -> None:
    store, written, rng = tmp_path / "store.jsonl", 0, random.Random(7)
    for _ in range(4):
        child = psutil.Popen([sys.executable, str(CHILD), str(tmp_path), str(store)], cwd=ROOT, env={"PYTHONPATH": "."})
        until = seen_ids(store)
        while len(seen_ids(store)) < len(until) + 20:
            with requests.open("ab") as file:
                text = b"".join(record(written + i) for i in range(7))
                written += 7
                cut = rng.randrange(len(text))
                file.write(text[:cut])
                file.flush()
                time.sleep(rng.random() * 0.02)
                file.write(text[cut:])
            assert child.poll() is None
        child.kill()
        child.wait()
    child = psutil.Popen([sys.executable, str(CHILD), str(tmp_path), str(store)], cwd=ROOT, env={"PYTHONPATH": "."})
    deadline = time.monotonic() + 20
    while len(seen_ids(store)) < written and time.monotonic() < deadline:
        time.sleep(0.05)
    child.kill()
    child.wait()
    assert seen_ids(store) == [str(i) for i in range(written)]


def seen_ids(store: Path) -> list[str]:
    lines = store.read_text().splitlines() if store.exists() else []
    return [i for line in lines for i in json.loads(line)["ids"]]
