"""A start: what is pulled, what counts as progress, and when it is given up."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import RunState, utc_now
from launcher.processes.readiness import ReadinessPoll
from launcher.processes.startup_progress import PULL_LIMIT_S, StartTimeout, read_bar, read_pull
from launcher.runs.supervisor import Supervisor
from machine.ports import is_port_free
from tests.launcher.servers import DictStore, request_for, wait_for, wait_for_state

PODMAN = """Resolving "vllm" using unqualified-search registries (/etc/containers/registries.conf)
Trying to pull docker.io/vllm/vllm-openai:v0.10.2...
Getting image source signatures
Copying blob sha256:8314a7dab9fa15d36eadbbf514c3327ae21643593ba7fe62b6eb2ffbb680032a
"""
DOCKER = """Unable to find image 'vllm/vllm-openai:v0.10.2' locally
v0.10.2: Pulling from vllm/vllm-openai
17eec7bbc9d7: Pulling fs layer
a1b2c3d4e5f6: Pulling fs layer
0011223344aa: Already exists
17eec7bbc9d7: Download complete
17eec7bbc9d7: Pull complete
"""
OVER = "Writing manifest to image destination\nStoring signatures\n"
DOCKER_OVER = "Digest: sha256:0b\nStatus: Downloaded newer image for vllm/vllm-openai:v0.10.2\n"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("", None),
        (PODMAN, "pulling the image"),
        (PODMAN + OVER, None),
        (PODMAN + OVER + "INFO 11-21 01:00:00 vLLM API server\n", None),
        (DOCKER, "pulling the image, 2 of 3 layers"),
        (DOCKER + DOCKER_OVER, None),
        ("INFO 11-21 01:00:00 Loading weights\n", None),
    ],
)
def test_pull_progress_from_client_output(tmp_path: Path, text: str, phase: str | None) -> None:
    (tmp_path / "server.log").write_text(text)
    assert read_pull(tmp_path / "server.log") == phase


def test_a_log_that_is_not_there_tells_no_pull(tmp_path: Path) -> None:
    assert read_pull(tmp_path / "server.log") is None


def test_linked_log_and_pipe_give_no_progress(tmp_path: Path) -> None:
    (tmp_path / "real.log").write_text(PODMAN)
    (tmp_path / "link.log").symlink_to(tmp_path / "real.log")
    os.mkfifo(tmp_path / "pipe.log")
    assert read_pull(tmp_path / "real.log") is not None
    assert read_pull(tmp_path / "link.log") is read_pull(tmp_path / "pipe.log") is None
    assert read_bar(tmp_path / "pipe.log", "vllm") is None


SHARDS = "\rLoading safetensors checkpoint shards: "
BAR = f"{SHARDS}  0% Completed | 0/3{SHARDS} 34% Completed"


@pytest.mark.parametrize(
    ("engine", "text", "phase"),
    [
        ("vllm", f"INFO 11-21 01:00:00 [a.py:1] x\n{BAR} | 1/3 [00:01<00:09]", "loading weights 34 %"),
        ("vllm", f"{BAR} | 1/3\n", None),  # the line is over: the log's reader has it
        ("vllm", "INFO 11-21 01:00:00 [a.py:1] Starting to load model o/m", None),
        ("sglang", "\rCapturing batches (bs=8 avail_mem=7.19 GB):  12%|█▎        | 1/8", "capturing graphs 12 %"),
        ("vllm", "x" * 10_000 + f"{BAR} | 1/3", "loading weights 34 %"),
        ("other", f"{BAR} | 1/3", None),
    ],
)
def test_a_bar_that_is_being_drawn_is_the_phase(tmp_path: Path, engine: str, text: str, phase: str | None) -> None:
    (tmp_path / "server.log").write_text(text)
    assert read_bar(tmp_path / "server.log", engine) == phase


def start_of(limit_s: float) -> StartTimeout:
    return StartTimeout(ReadinessPoll(ThreadPoolExecutor(1), "http://127.0.0.1:9", "no answer (ConnectError)"), limit_s)


def test_timer_restarts_at_each_new_phase() -> None:
    start = start_of(60)
    assert start.explain_timeout(None, 0) is None
    assert start.explain_timeout("loading weights 12 %", 50) is None
    assert start.explain_timeout("loading weights 34 %", 100) is None
    assert start.explain_timeout("loading weights 34 %", 150) is None
    text = "The server was not ready: no progress for 60 s while loading weights 34 %; its last answer: no answer"
    assert (start.explain_timeout("loading weights 34 %", 161) or "").startswith(text)


def test_endlessly_restarting_server_is_given_up() -> None:
    start = start_of(60)
    phases = ["loading weights 0 %", "loading weights 100 %"] * 4
    told = [start.explain_timeout(phase, 20 * turn) for turn, phase in enumerate(phases)]
    assert [words is None for words in told] == [True] * 5 + [False] * 3


def test_a_pull_has_a_time_of_its_own() -> None:
    start = start_of(60)
    assert start.explain_timeout("pulling the image", 0) is None
    assert start.explain_timeout("pulling the image", PULL_LIMIT_S) is None
    assert start.explain_timeout("loading weights", PULL_LIMIT_S + 50) is None
    assert start.explain_timeout("pulling the image, 1 of 2 layers", PULL_LIMIT_S + 99) is None
    words = start.explain_timeout("pulling the image, 1 of 2 layers", 2 * PULL_LIMIT_S + 100)
    assert words and "no progress for 3600 s while pulling the image, 1 of 2 layers" in words


def test_server_ready_during_absence_is_retaken(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    first = Supervisor(store, tmp_path / "runs", events=store.take)
    run = first.launch(request_for(ready_timeout_s=5.0))
    first.tick()
    first.close()
    assert store.run(run.id).state is RunState.STARTING
    wait_for(lambda: not is_port_free(run.config.port), 60)
    make_supervisor(clock=lambda: utc_now() + timedelta(hours=1))
    wait = wait_for_state(store, run.id, RunState.READY, RunState.FAILED)
    assert wait.state is RunState.READY, wait.cause
