"""A Pitwall that starts while a command owns the store gets it; kill -9 of either loses and doubles nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.parse_log import write_log
from collectors.imports.inbox import inbox_folder, read_status
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from tests.ports import free_ports
from tests.studies.test_study_run import answer, rows, study
from tests.studies.test_study_run import start as start_study

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]
LOG_BYTES = 40_000_000  # seconds of a large import
PATIENCE_S = 240.0
WAITS = "Pitwall waits up to 60 s for a command to hand the store over. The command ./pitwall"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A log whose last change is long ago, and how many samples are in it."""
    path = tmp_path_factory.mktemp("log") / "server.log"
    _, samples = write_log(path, LOG_BYTES)
    os.utime(path, (time.time() - 86_400,) * 2)
    return path, samples


@pytest.fixture
def pitwall(tmp_path: Path) -> Iterator[Pitwall]:
    """Not started yet."""
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0])
    yield pitwall
    pitwall.end_everything()


@pytest.fixture
def command(pitwall: Pitwall, log: tuple[Path, int]) -> Iterator[subprocess.Popen[str]]:
    """An import under way, whose command owns the store; stopped, so that it is not over before Pitwall starts."""
    command = subprocess.Popen(
        [ROOT / "pitwall", "import", log[0], "--json"],
        env=os.environ | {"PITWALL_DATA": str(pitwall.data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: command.poll() is not None or share(pitwall) > 0.42, PATIENCE_S, 0.05)
        command.send_signal(signal.SIGSTOP)
        assert command.poll() is None
        yield command
    finally:
        command.kill()
        command.communicate()


def share(pitwall: Pitwall) -> float:
    """Return the completed share of the only job."""
    folder = inbox_folder(pitwall.data)
    names = [path.name.removesuffix(".status.json") for path in folder.glob("*.status.json")]
    return read_status(folder, names[0]).share if names else 0.0


def begin_start(pitwall: Pitwall, command: subprocess.Popen[str]) -> threading.Thread:
    """Start Pitwall, and continue the command when Pitwall says for whom it waits."""
    starting = threading.Thread(target=start_unless_killed, args=(pitwall,), daemon=True)
    starting.start()
    out = pitwall.data.parent / pitwall.out_name
    wait_until(lambda: out.exists() and f"{WAITS} import (pid {command.pid})" in pitwall.said, PATIENCE_S, 0.02)
    command.send_signal(signal.SIGCONT)
    return starting


def start_unless_killed(pitwall: Pitwall) -> None:
    with suppress(AssertionError):
        pitwall.start()


def expect_stored_once(pitwall: Pitwall, samples: int) -> None:
    query = "SELECT count(*), count(DISTINCT line), count(DISTINCT run_id) FROM log_samples"
    wait_until(lambda: (pitwall.data / "monitor.duckdb").exists() and pitwall.sql(query)[0][0] >= samples, PATIENCE_S)
    assert pitwall.sql(query) == [(samples, samples, 1)]


def test_command_hands_the_store_over_and_has_its_outcome(
    pitwall: Pitwall, command: subprocess.Popen[str], log: tuple[Path, int]
) -> None:
    begin_start(pitwall, command).join(PATIENCE_S)
    out, errors = command.communicate(timeout=PATIENCE_S)
    document = json.loads(out)
    assert (command.returncode, document["state"]) == (0, "done"), errors
    assert document["text"].startswith("server.log was imported as the run"), document
    assert errors == "Pitwall starts: it takes the store over, and completes what this command waits for.\n"
    wait_until(pitwall.is_up, PATIENCE_S)
    expect_stored_once(pitwall, log[1])
    assert not list(inbox_folder(pitwall.data).iterdir())


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.4])
def test_killed_command_leaves_the_rest_to_pitwall(
    pitwall: Pitwall, command: subprocess.Popen[str], log: tuple[Path, int], delay_s: float
) -> None:
    starting = begin_start(pitwall, command)
    time.sleep(delay_s)
    command.send_signal(signal.SIGKILL)
    starting.join(PATIENCE_S)
    wait_until(pitwall.is_up, PATIENCE_S)
    expect_stored_once(pitwall, log[1])
    wait_until(lambda: not list(inbox_folder(pitwall.data).glob("*.job.json")), PATIENCE_S)


@pytest.mark.parametrize("delay_s", [0.0, 0.5, 3.0])
def test_killed_pitwall_leaves_the_rest_to_the_command(
    pitwall: Pitwall, command: subprocess.Popen[str], log: tuple[Path, int], delay_s: float
) -> None:
    begin_start(pitwall, command)
    time.sleep(delay_s)
    pitwall.kill()
    out, errors = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, json.loads(out)["state"]) == (0, "done"), errors
    expect_stored_once(pitwall, log[1])


def test_ending_pitwall_leaves_its_import_to_the_command(pitwall: Pitwall, log: tuple[Path, int]) -> None:
    pitwall.start()
    environ = os.environ | {"PITWALL_DATA": str(pitwall.data)}
    argv = [ROOT / "pitwall", "import", log[0], "--json"]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        wait_until(lambda: share(pitwall) > 0.42, PATIENCE_S, 0.05)
        assert pitwall.terminate(30) in (0, -signal.SIGTERM)
        out, errors = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, json.loads(out)["state"]) == (0, "done"), errors
    expect_stored_once(pitwall, log[1])


def test_second_pitwall_is_refused_while_the_first_waits(pitwall: Pitwall, command: subprocess.Popen[str]) -> None:
    starting = threading.Thread(target=start_unless_killed, args=(pitwall,), daemon=True)
    starting.start()
    wait_until(lambda: (pitwall.data / "store.claim").exists(), PATIENCE_S)
    assert pitwall.process
    second = Pitwall(pitwall.data, free_ports(1)[0], out_name="second.out")
    with pytest.raises(AssertionError, match=rf"cannot start: Another Pitwall \(pid {pitwall.process.pid}\) uses"):
        second.start()
    command.send_signal(signal.SIGCONT)
    starting.join(PATIENCE_S)
    wait_until(pitwall.is_up, PATIENCE_S)


@pytest.mark.long
def test_study_in_a_shell_goes_on_in_the_pitwall_that_starts(pitwall: Pitwall, tmp_path: Path) -> None:
    """Pitwall is killed, the command takes the store over, and Pitwall starts again."""
    pitwall.start()
    command = start_study(study(tmp_path, 13.0, 10.0, runs=4), pitwall.data)
    wait_until(lambda: pitwall.sql("SELECT 1 FROM runs"), PATIENCE_S)
    pitwall.kill()
    wait_until(lambda: is_held_by(pitwall.data / "store.duckdb", command.pid), PATIENCE_S)
    pitwall.start()
    assert f"{WAITS} study run study.toml (pid {command.pid})" in pitwall.said
    status, told = answer(command)
    assert status in (0, 3), told
    assert told["runs"] == len(rows(pitwall.data, "SELECT 1 FROM runs")) == 4
    assert len(rows(pitwall.data, "SELECT 1 FROM studies")) == 1
    wait_until(pitwall.is_up, PATIENCE_S)


def is_held_by(path: Path, pid: int) -> bool:
    """Whether the process has the file open."""
    return any(os.path.realpath(descriptor) == str(path) for descriptor in Path(f"/proc/{pid}/fd").iterdir())
