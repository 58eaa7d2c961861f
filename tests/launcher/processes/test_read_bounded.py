"""Output of a command is read to its end, or not at all if it is too large, takes too long or fails. Real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from domain import Config
from launcher.checks import provenance
from launcher.checks.provenance import UnreadGpus, freeze
from launcher.processes.containers import ask
from machine.run_with_timeout import PassedLimitError, read_bounded
from tests.launcher.checks.test_provenance import run_of

PYTHON = [sys.executable, "-c"]
ENDLESS = [*PYTHON, "import sys\nwhile True: sys.stdout.write('x' * 65536)"]


def test_all_of_what_it_prints() -> None:
    assert read_bounded([*PYTHON, "print('x' * 300_000)"], 60, 1 << 20) == b"x" * 300_000 + b"\n"


@pytest.mark.parametrize(
    ("argv", "timeout_s", "limit"),
    [
        (ENDLESS, 60, "it printed more than the limit of 1 MiB"),
        ([*PYTHON, "import time; time.sleep(600)"], 0.3, "it took longer than 0.3 s"),
        ([*PYTHON, "import os, time; os.close(1); time.sleep(600)"], 1.0, "it took longer than 1 s"),
    ],
    ids=["without an end", "without a word", "without an exit"],
)
def test_limit_breach_is_ended_and_named(argv: list[str], timeout_s: float, limit: str) -> None:
    before = len(psutil.Process().children())
    with pytest.raises(PassedLimitError, match=f"^{limit}$"):
        read_bounded(argv, timeout_s, 1 << 20)
    assert len(psutil.Process().children()) == before


def test_what_fails_is_not_taken() -> None:
    assert read_bounded([*PYTHON, "print('half'); raise SystemExit(3)"], 60, 1 << 20) is None


def test_endless_runtime_output_is_no_answer() -> None:
    assert ask(ENDLESS) is None
    assert ask(["/no/such/runtime"]) is None
    assert ask([*PYTHON, "print('here')"]) == "here\n"


def test_a_model_file_that_is_too_large_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "LARGEST_BYTES", 1 << 20)
    model = tmp_path / "model"
    model.mkdir()
    with (model / "config.json").open("wb") as file:
        file.truncate(10 << 30)
    (model / "generation_config.json").symlink_to("/dev/zero")
    frozen = freeze(run_of(Config(engine="vllm", model="model", argv=("vllm",)), tmp_path), UnreadGpus())
    assert frozen["model"]["files"] == {
        "config.json": {"bytes": 10 << 30, "sha256": None, "sha256_reason": "it is larger than 1 MiB"}
    }
