"""The cause of a failed run: one plain sentence and the line of its log that shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.logs.failure_cause import failure_of
from domain import Config, Run

CORE = "(EngineCore_DP0 pid=8) ERROR 05-20 01:43:25 [core.py:700] "
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
LOGS = {
    "vllm": (
        f"{CORE}EngineCore failed to start.\n{CORE}{OUT_OF_MEMORY} GPU 0 has 79.10 GiB.\n(EngineCore_DP0 pid=8) "
        f"{OUT_OF_MEMORY}\n(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above.\n",
        "The GPU ran out of memory: an allocation of 2.00 GiB failed.",
        f"{OUT_OF_MEMORY} GPU 0 has 79.10 GiB.",
    ),
    "sglang": (
        "[2026-05-20 01:43:25] Received sigquit from a child process.\n"
        "launch_server.py: error: unrecognized arguments: --foo\n",
        "The server does not know a flag. launch_server.py: error: unrecognized arguments: --foo",
        "launch_server.py: error: unrecognized arguments: --foo",
    ),
    "trtllm": (
        "RuntimeError: Executor creation failed due to insufficient GPU memory.\n\n"
        "The following component could not be created: KV cache\nTotal GPU memory (GiB): 95.00\n"
        "Free GPU memory before component creation attempt (GiB): 16.95\n",
        "Not enough GPU memory for KV cache: 16.95 of 95.00 GiB free.",
        "Free GPU memory before component creation attempt (GiB): 16.95",
    ),
    "llamacpp": ("Killed\n", "The kernel killed the process, most likely for memory. Killed", "Killed"),
}


def run_of(engine: str, log: Path) -> Run:
    now = datetime.now(UTC)
    return Run(
        id="r", name="r", color=0, config=Config(engine=engine), machine_id="m", created_at=now, log_path=str(log)
    )


@pytest.mark.parametrize("engine", LOGS)
def test_true_cause_is_shown_with_its_line(engine: str, tmp_path: Path) -> None:
    text, sentence, line = LOGS[engine]
    log = tmp_path / "server.log"
    log.write_text(text)
    assert failure_of(run_of(engine, log)) == (sentence, line)


def test_truncated_cause_still_finds_its_line(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(f"{CORE}RuntimeError: {'x' * 900}\n")
    failure = failure_of(run_of("vllm", log))
    assert failure and failure[1] == f"RuntimeError: {'x' * 900}"


def test_a_log_that_names_no_cause(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("(APIServer pid=7) INFO:     Shutting down\n")
    assert failure_of(run_of("vllm", tmp_path / "server.log")) is None
    assert failure_of(run_of("vllm", tmp_path / "gone.log")) is None


def test_exit_0_fails_when_the_engine_died(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    survived = f"(APIServer pid=7) INFO:     Application startup complete.\n{CORE}{OUT_OF_MEMORY}\n"
    log.write_text(survived)
    assert failure_of(run_of("vllm", log)) and failure_of(run_of("vllm", log), exit_code=0) is None
    log.write_text(f"{survived}{CORE}vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n")
    assert failure_of(run_of("vllm", log), exit_code=0) == failure_of(run_of("vllm", log))
