"""`./pitwall record`: a process of its own that ends by itself or by a signal, and what it says where it cannot."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from collectors.logs.requests import RequestReader
from domain import Config, Run, RunState
from load_records import Load, LoadPhase, RequestRecord
from settings import Settings
from storage.store import Store
from tests.cli.test_command_line import PITWALL, environ, pitwall  # noqa: F401  # a fixture among them
from tests.demo_engine import DemoServer

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
pytestmark = pytest.mark.publishes


def published(folder: Path, **fields: Any) -> Run:
    """A run in a published store; Pitwall itself does not run."""
    config = Config(engine="llamacpp")
    run = Run(id="r1", name="one", color=0, config=config, machine_id="m", created_at=NOW, **fields)
    store = Store.open(Settings(data_dir=folder / "data"))
    store.save_run(run, 30.0)
    store.close()
    return run


@contextmanager
def recorder(environ: dict[str, str], folder: Path, *words: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:  # noqa: F811
    """Base URL, token and process of a recorder of the run."""
    command = [PITWALL, "record", "r1", *words]
    process = subprocess.Popen(command, cwd=folder, env=environ, text=True, stdout=-1, stderr=-1)
    try:
        assert process.stdout
        _, url, token = (process.stdout.readline() for _ in range(3))
        yield url.split()[-1], token.split()[-1], process
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.engine
def test_what_passes_through_is_a_load_of_the_run(
    environ: dict[str, str],  # noqa: F811
    demo_server: DemoServer,
    tmp_path: Path,
) -> None:
    run = published(tmp_path, state=RunState.READY, base_url=demo_server.base_url, run_dir=str(tmp_path / "run"))
    with recorder(environ, tmp_path, "--keep-text") as (url, token, process):
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        answer = httpx.post(f"{url}/chat/completions", json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200 and answer.json()["usage"]["completion_tokens"] == 5
        second = pitwall("record", "r1", environ=environ, cwd=tmp_path)
        assert (second.returncode, "Another recorder is already running" in second.stderr) == (1, True)
        process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "") and "requests: 1." in said
    folder = tmp_path / "run/workload"
    placed = RequestReader().feed((folder / "requests.jsonl").read_bytes(), run, NOW)
    samples = [one.sample for one in placed]
    assert [type(sample) for sample in samples[:3]] == [Load, RequestRecord, LoadPhase]
    assert (samples[1].run_id, samples[1].completion_tokens) == ("r1", 5)
    (path,) = folder.glob("recorded-*.jsonl")
    assert path.stat().st_mode & 0o777 == 0o600 and b'"hi"' in path.read_bytes()


def test_it_ends_when_its_time_is_over(environ: dict[str, str], tmp_path: Path) -> None:  # noqa: F811
    published(tmp_path, state=RunState.READY, base_url="http://127.0.0.1:9", run_dir=str(tmp_path / "run"))
    with recorder(environ, tmp_path, "--minutes", "0.01") as (_, _, process):
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "requests: 0." in said


@pytest.mark.wide
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {"state": RunState.FINISHED},
            "The server of run r1 is not ready: the run is finished.",
            marks=pytest.mark.wide,
        ),
        ({"state": RunState.READY, "base_url": "http://127.0.0.1:9"}, "Run r1 has no folder yet"),
    ],
)
def test_a_run_that_cannot_be_recorded_is_told(
    fields: dict[str, Any],
    sentence: str,
    environ: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    published(tmp_path, **fields)
    done = pitwall("record", "r1", environ=environ, cwd=tmp_path)
    assert (done.returncode, sentence in done.stderr) == (1, True), done.stderr
    assert "There is no run r2." in pitwall("record", "r2", environ=environ, cwd=tmp_path).stderr
