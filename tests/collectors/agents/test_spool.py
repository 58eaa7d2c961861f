"""The buffer of an agent: its numbers, its bound, and its end by SIGKILL."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from collectors.agents.spool import Spool, SpoolError

ROOT = Path(__file__).resolve().parents[3]
ADDS = """
import sys
from itertools import pairwise
from pathlib import Path
from collectors.agents.spool import Spool
spool = Spool(Path(sys.argv[1]))
for number in range(10**9):
    spool.add(b"x" * 1000)
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "r1.sqlite"


def numbers(spool: Spool) -> list[int]:
    return [one.number for one in spool.first(10**6, 10**12)]


def test_sequence_numbers_unique_over_restarts(path: Path) -> None:
    spool = Spool(path)
    agent = spool.agent_id
    for _ in range(3):
        spool.add(b"x")
    assert numbers(spool) == [1, 2, 3]
    spool.forget(3)
    spool.close()
    again = Spool(path)
    assert again.is_empty() and again.agent_id == agent
    again.add(b"x")
    assert numbers(again) == [4]
    again.close()


def test_oldest_fitting_samples_go_first(path: Path) -> None:
    spool = Spool(path)
    for size in (10, 20, 30):
        spool.add(b"x" * size)
    assert [len(one.body) for one in spool.first(10, 30)] == [10, 20]
    assert [len(one.body) for one in spool.first(1, 1000)] == [10]
    assert [len(one.body) for one in spool.first(10, 1)] == [10]
    spool.close()


def test_full_buffer_thins_oldest_and_counts_them(path: Path) -> None:
    spool = Spool(path, max_bytes=100)
    for _ in range(40):
        spool.add(b"x" * 10)
        assert sum(len(one.body) for one in spool.first(1000, 10**6)) <= 100
    kept_numbers = numbers(spool)
    assert kept_numbers[-1] == 40 and len(kept_numbers) + spool.thinned == 40
    assert kept_numbers[-3:] == [38, 39, 40], "the newest stay side by side"
    gaps = [b - a for a, b in pairwise(kept_numbers)]
    assert max(gaps[: len(gaps) // 2]) > max(gaps[len(gaps) // 2 :]), "what is older is sparser"
    spool.close()


def test_oversized_batch_leaves_an_empty_buffer(path: Path) -> None:
    spool = Spool(path, max_bytes=5)
    spool.add(b"x" * 10)
    assert (spool.is_empty(), spool.thinned) == (True, 1)
    spool.close()


def test_it_is_its_owners_and_one_agents(path: Path) -> None:
    spool = Spool(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(SpoolError, match="Another agent"):
        Spool(path)
    spool.close()
    Spool(path).close()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(SpoolError, match="cannot be used"):
        Spool(path)


def test_what_was_kept_outlives_a_kill_whole(path: Path) -> None:
    said = 0
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", ADDS, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert child.stdout
        for _ in range(20):
            child.stdout.readline()
            said += 1
        os.kill(child.pid, signal.SIGKILL)
        said += len(child.stdout.read().splitlines())
        child.wait()
    spool = Spool(path)
    kept = spool.first(10**6, 10**12)
    assert {len(one.body) for one in kept} == {1000}
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))
    assert said <= len(kept) <= said + 3, "what was said to be kept, and at most one more a kill"
    spool.close()


def test_failing_disk_is_always_a_sentence(path: Path) -> None:
    """The file is closed under it, as a disk that is gone or full would refuse each statement."""
    spool = Spool(path)
    spool.add(b"x")
    spool._file.close()
    for ask in (lambda: spool.add(b"x"), lambda: spool.first(1, 1), lambda: spool.forget(1), spool.is_empty):
        with pytest.raises(SpoolError, match="cannot be used"):
            ask()
