"""Real agents in processes of their own, on LABELLED STAND-INS for other machines, against the real taking half.

`PITWALL_AGENT_KILLS`: how often each side is ended with SIGKILL (6 unless set).
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain import Config, Run, RunState, utc_now
from settings import Settings
from storage.store import Store
from tests.ports import free_ports
from web.access.tokens import Scope, TokenBook

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("PITWALL_AGENT_KILLS", "6"))
PATIENCE_S = 240.0
pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]


def wait_for(holds: Callable[[], Any], text: str) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, text
        time.sleep(0.05)


@dataclass
class Box:
    """A Pitwall's folder with one live run, its taking half, and its agents."""

    folder: Path
    port: int
    host: str = "127.0.0.1"
    tls: tuple[str, ...] = ()
    trusted: str | None = None
    before: tuple[str, ...] = ()  # words before the agent's command, such as another network namespace
    token: str = ""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings(data_dir=self.folder / "head")

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"

    def make_run(self) -> None:
        store = Store.open(self.settings)
        run = Run(
            id="r1", name="two", color=0, config=Config(), machine_id="head", created_at=utc_now(),
            state=RunState.RUNNING,
        )  # fmt: skip
        store.save_run(run)
        store.close()
        self.token = TokenBook(self.settings.tokens_path).make([Scope.AGENT], "r1", timedelta(days=1), "", "a test")[1]

    def end_run(self) -> None:
        """By its Pitwall, which is down meanwhile."""
        store = Store.open(self.settings)
        run = store.run("r1")
        assert run
        store.save_run(run.model_copy(update={"state": RunState.FINISHED, "ended_at": utc_now()}))
        store.close()

    def take(self) -> subprocess.Popen[str]:
        place = [self.settings.data_dir, self.host, self.port]
        argv = [sys.executable, "-m", "tests.collectors.agents.taker", *place, *self.tls]
        taker = self._start(map(str, argv), {})
        wait_for(lambda: self.answers() or taker.poll() is not None, "the taker did not start")
        assert taker.poll() is None, taker.communicate()[0]
        return taker

    def answers(self) -> bool:
        try:
            verify = ssl.create_default_context(cafile=self.trusted) if self.trusted else False
            return httpx.get(self.url, timeout=5, verify=verify, trust_env=False).status_code > 0
        except httpx.HTTPError:
            return False

    def agent(self, machine: str, every_s: float = 0.02) -> subprocess.Popen[str]:
        trust = ["--ca", self.trusted] if self.trusted else []
        argv = [
            *self.before,
            sys.executable,
            "-m",
            "tests.collectors.agents.node",
            machine,
            "--run",
            "r1",
            "--to",
            self.url,
            *trust,
        ]
        environ = {
            "PITWALL_AGENT_TOKEN": self.token,
            "PITWALL_DATA": str(self.folder / machine),
            "STAND_IN_EVERY_S": str(every_s),
        }
        return self._start(argv, environ)

    def _start(self, argv: Any, environ: dict[str, str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            list(argv), cwd=ROOT, env=os.environ | environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    store = Store.open(settings)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path, free_ports(1)[0])
    box.make_run()
    yield box
    box.end()


def stop(process: subprocess.Popen[str]) -> str:
    """What it said until its end."""
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=PATIENCE_S)
    return said


def number_kept(box: Box, machine: str) -> int:
    """The last number that the agent's buffer has given, whatever became of it since."""
    path = box.folder / machine / "agent" / "r1.sqlite"
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=60) as file:
        try:
            row = file.execute("SELECT seq FROM sqlite_sequence WHERE name = 'batches'").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(row[0]) if row else 0


def test_a_second_node_stands_under_the_run(box: Box) -> None:
    taker = box.take()
    agent = box.agent("worker")
    wait_for(lambda: number_kept(box, "worker") > 20, "nothing was measured")
    actual_stop = stop(agent)
    assert agent.returncode == 0 and box.token not in actual_stop, actual_stop
    stop(taker)
    with opened(box.settings) as store:
        nodes = store.query("FROM run_nodes_of(['r1']) ORDER BY machine_id").to_pylist()
        hosts = store.query("SELECT host_cores, unknown, clock_uncertainty_s FROM host_samples").to_pylist()
    assert [(node["machine_id"], node["role"]) for node in nodes] == [("head", "server"), ("worker", "worker")]
    assert [gpu["uuid"] for gpu in nodes[1]["gpus"]] == ["GPU-worker-0", "GPU-worker-1"]
    assert hosts and all(row["host_cores"] and row["clock_uncertainty_s"] is not None for row in hosts)
    assert "no process of the run" in hosts[0]["unknown"]


@pytest.mark.long
def test_kill_storm_loses_and_doubles_nothing(box: Box) -> None:
    """Both sides end by SIGKILL at any moment, again and again; then all that was ever kept is in the store once."""
    chance = random.Random(1)
    taker, agent = box.take(), box.agent("worker")
    for _ in range(KILLS):
        for side in ("taker", "agent"):
            more = number_kept(box, "worker") + chance.randrange(3, 60)
            wait_for(lambda more=more: number_kept(box, "worker") >= more, "the agent measures no more")
            if side == "taker":
                taker.kill()
                taker.wait()
                taker = box.take()
            else:
                agent.kill()
                agent.wait()
                agent = box.agent("worker")
    agent.kill()
    agent.wait()
    agent = box.agent("worker", every_s=3600)
    wait_for(lambda: number_kept(box, "worker") and not remaining_rows(box), "it does not send what it kept")
    stop(agent)
    kept_number_kept = number_kept(box, "worker")
    stop(taker)
    with opened(box.settings) as store:
        position = store.query("SELECT number, thinned FROM raw.agents").to_pylist()
        hosts = store.query("SELECT count(*) AS n, count(DISTINCT mono_s) AS d FROM host_samples").to_pylist()
        gpus = store.query("SELECT count(*) AS n FROM gpu_samples")["n"][0].as_py()
    assert position == [{"number": kept_number_kept, "thinned": 0}], "one agent, whatever was killed"
    assert hosts == [{"n": kept_number_kept, "d": kept_number_kept}], "every look that was ever kept, once"
    assert gpus == 2 * kept_number_kept


def test_an_agent_ends_with_its_run(box: Box) -> None:
    agent = box.agent("worker")
    wait_for(lambda: number_kept(box, "worker") > 10, "nothing was measured")
    box.end_run()
    taker = box.take()
    said, _ = agent.communicate(timeout=PATIENCE_S)
    assert agent.returncode == 0 and "all samples were sent" in said, said
    stop(taker)
    with opened(box.settings) as store:
        run = store.run("r1")
        last = store.query("SELECT max(ts) AS t FROM host_samples")["t"][0].as_py()
    assert run and run.ended_at and last <= run.ended_at, "what it was like afterwards is not the run's"


def test_agent_waits_then_sends_its_buffer(box: Box) -> None:
    agent = box.agent("worker")
    wait_for(lambda: number_kept(box, "worker") > 30, "it does not measure while its Pitwall is away")
    taker = box.take()
    kept_number_kept = number_kept(box, "worker")
    wait_for(lambda: remaining_rows(box) < kept_number_kept, "it does not send what it kept")
    actual_stop = stop(agent)
    assert "does not accept samples now" in actual_stop and "answers again" in actual_stop, actual_stop
    stop(taker)


def remaining_rows(box: Box) -> int:
    with sqlite3.connect(box.folder / "worker" / "agent" / "r1.sqlite", timeout=60) as file:
        return int(file.execute("SELECT count(*) FROM batches").fetchone()[0])


def test_refusal_ends_the_agent_and_keeps_buffer(box: Box) -> None:
    taker = box.take()
    TokenBook(box.settings.tokens_path).revoke(TokenBook(box.settings.tokens_path).all()[0].id, "a test")
    agent = box.agent("worker")
    said, _ = agent.communicate(timeout=PATIENCE_S)
    assert agent.returncode != 0 and "revoked" in said
    assert remaining_rows(box) > 0
    stop(taker)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--to", "http://192.0.2.1:8501"), "unencrypted"),
        (("--to", "http://localhost:8501"), "unencrypted"),
        (("--to", "https://name:word@192.0.2.1"), "visible to every user"),
        (("--to", "ftp://192.0.2.1"), "not the address of a Pitwall"),
        (("--to", "https://192.0.2.1/?token=x"), "not the address of a Pitwall"),
        (("--to", "https://192.0.2.1", "--token-file", "open.txt"), "is readable by other users"),
        (("--to", "https://192.0.2.1", "--token-file", "-"), "There is no valid token"),
        (("--to", "https://192.0.2.1"), "There is no valid token"),
    ],
    ids=lambda words: str(words)[:40],
)
def test_token_exposure_is_refused(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "open.txt").write_text("pwt_" + "x" * 43)
    (tmp_path / "open.txt").chmod(0o644)
    environ = {name: value for name, value in os.environ.items() if name != "PITWALL_AGENT_TOKEN"}
    argv = [ROOT / "pitwall", "agent", "--run", "r1", *words]
    process = subprocess.run(
        argv, cwd=tmp_path, env=environ | {"PITWALL_DATA": str(tmp_path)}, input="", capture_output=True, text=True
    )
    assert process.returncode == 1 and sentence in process.stderr, process.stderr
