"""`./pitwall study run` with an arm on another machine: a real sshd, and servers of known truth that run no model."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.processes.process import ROOT
from machine.identity import machine_id
from tests.launcher.remote.sshd import ANOTHER, Box, book_with, needs_sshd, running_box
from tests.launcher.servers import marked, wait_for
from tests.ports import free_ports
from tests.studies.test_study_run import BUSY, LOAD, answer, rows, start, why_unranked

pytestmark = [needs_sshd, pytest.mark.ssh, pytest.mark.long, pytest.mark.timeout(600)]
PACED = f"""#!{sys.executable}
# FAKE: the stand-in, which is found wherever it is started.
import sys
sys.path.insert(0, {str(ROOT)!r})
from demo import paced
sys.exit(paced.main(sys.argv[1:]))
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with running_box(tmp_path / "box") as box:
        box.is_another()
        yield box


def study(folder: Path, runs: int) -> Path:
    """An arm here, of 20 ms a token, and one on the box, of 10 ms."""
    program, (port, port_there) = folder / "paced", free_ports(2)
    program.write_text(PACED)
    program.chmod(0o755)
    command = f'engine = "vllm"\ncommand = "{program} --port'
    arms = f'[[arm]]\nname = "here"\n{command} {port} --step-ms 20"\n'
    arms += f'[[arm]]\nname = "there"\nhost = "gpu-box"\n{command} {port_there} --step-ms 10"\n'
    file = folder / "study.toml"
    file.write_text(f'question = "which"\n[budget]\nruns = {runs}\n{arms}{LOAD}')
    return file


def test_remote_arm_differs_from_the_local_arm(tmp_path: Path, box: Box) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    book_with(data / "hosts.json", box.host)
    status, told = answer(start(study(tmp_path, 8), data))
    arms = next(arm for arm in told["arms"] if arm["name"] == "there")
    if not why_unranked(told):
        assert (status, told["answer"], told["winner"]) == (0, "winner", "there"), told
        assert arms["interval"][0] <= arms["ratio"] <= arms["interval"][1]
    else:
        assert (status, told["answer"]) == (3, "unknown")
        assert why_unranked(told) <= BUSY
    assert arms["ratio"] == pytest.approx(2.0, rel=0.1)
    assert any("machine and settings together" in str(reason) for reason in told["reasons"]), told["reasons"]
    assert set(rows(data, f"SELECT arm, machine_id = '{ANOTHER}', state FROM runs")) == {
        ("here", False, "finished"),
        ("there", True, "finished"),
    }
    noted = f"SELECT reported_by FROM raw.machines WHERE id = '{ANOTHER}'"
    assert rows(data, noted) == [(machine_id(),)], "what is told of it is not its own word"
    assert not list(box.shims.glob("*/server.log")), "what is over is tidied up there"


def test_kill_during_remote_load_resumes(tmp_path: Path, box: Box) -> None:
    data, file = tmp_path / "data", study(tmp_path, 4)
    data.mkdir(mode=0o700)
    book_with(data / "hosts.json", box.host)
    first = start(file, data)
    serving = "SELECT run_id FROM runs WHERE arm = 'there' AND state IN ('ready', 'running')"

    def served() -> list[tuple[str]]:
        assert first.poll() is None
        return rows(data, serving) if (data / "monitor.duckdb").exists() else []

    [(run_id,)] = wait_for(served)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert marked(f"ssh-{run_id}"), "its server outlives Pitwall"
    _, told = answer(start(file, data))
    assert told["runs"] == len(rows(data, "SELECT 1 FROM runs WHERE state = 'finished'")) == 4
    assert rows(data, "SELECT arm, count(*) FROM runs GROUP BY ALL ORDER BY 1") == [("here", 2), ("there", 2)]
    assert len(rows(data, "SELECT 1 FROM studies")) == 1
    loads = "SELECT DISTINCT count(*) FROM requests WHERE phase = 'measure' GROUP BY run_id"
    assert rows(data, loads) == [(2,)], "no request is lost, none is sent twice"
    assert marked(f"ssh-{run_id}") == []
