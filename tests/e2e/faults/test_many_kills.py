"""kill -9 of a whole Pitwall under load, in every phase of its store: nothing committed is lost, nothing is doubled.

`PITWALL_KILLS`: how often (340 unless set, which makes 500 in `make soak`).
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from settings import Settings
from storage.rows import SAMPLE_TABLES
from tests.e2e.faults.traced_pitwall import PHASES, Marks
from tests.e2e.pitwall_process import ROOT, Pitwall, parsed_log, wait_until
from tests.e2e.stand_ins import StandIns
from tests.ports import free_ports

KILLS = int(os.environ.get("PITWALL_KILLS", "340"))
RUNS = 4
LINES_PER_S = 100
PATIENCE_S = 900.0
COMMITS = PHASES[3:]
TARGETS = ("whatever", "write", "publish", "seal", "checkpoint")
LASTS_S = {"whatever": 1.0, "write": 0.03, "publish": 0.1, "seal": 0.1, "checkpoint": 0.005}
ALL_ROWS = " UNION ALL ".join(
    f"SELECT '{table}' AS name, count(*) AS n FROM {table}" for table in SAMPLE_TABLES.values()
)
TWICE = """
SELECT (SELECT count(*) - count(DISTINCT (run_id, "offset")) FROM log_samples)
     + (SELECT count(*) - count(DISTINCT (run_id, mono_s)) FROM counter_samples)
     + (SELECT count(*) - count(DISTINCT (run_id, mono_s)) FROM host_samples)
"""


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Pitwall]:
    """Not started yet."""
    argv = (sys.executable, str(ROOT / "tests/e2e/faults/traced_pitwall.py"), str(tmp_path / "marks"))
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0], command=argv)
    yield pitwall
    pitwall.end_everything()


def in_checkpoint(marks: Marks, store: Path) -> bool:
    """Whether a commit that is under way has begun to write the store's own file, not only its log."""
    begun_marks = [marks[name] for name in COMMITS if marks[name]]
    return bool(begun_marks) and store.stat().st_mtime_ns > min(begun_marks)


def is_under_way(target: str, marks: Marks, store: Path) -> bool:
    if target == "whatever":
        return True
    return in_checkpoint(marks, store) if target == "checkpoint" else marks[target] > 0


def kill_in(target: str, pitwall: Pitwall, marks: Marks) -> list[str]:
    """Kill it at a random moment of a phase; what really was under way."""
    store = pitwall.data / "store.duckdb"
    time.sleep(random.uniform(0.2, 1.5))
    wait_until(lambda: is_under_way(target, marks, store), 120, every_s=0.0005)
    time.sleep(random.uniform(0, LASTS_S[target]))
    pitwall.kill()
    found = [phase for phase in ("write", "publish", "seal") if marks[phase]]
    return [*found, *(["checkpoint"] if in_checkpoint(marks, store) else [])] or ["nothing of these"]


def rows_after_kill(pitwall: Pitwall, copy: Path) -> tuple[int, int]:
    """How many rows the killed store holds, and how many of them twice; read from a copy, log included."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for file in pitwall.data.glob("store.duckdb*"):
        shutil.copyfile(file, copy / file.name)
    with duckdb.connect(str(copy / "store.duckdb")) as connection:
        return sum(n for _, n in connection.sql(ALL_ROWS).fetchall()), connection.sql(TWICE).fetchall()[0][0]


def count_stored(pitwall: Pitwall) -> int:
    return int(pitwall.sql("SELECT count(*) FROM log_samples")[0][0])


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_kills_in_every_phase_lose_nothing(traced: Pitwall, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marks, seen, published = Marks(tmp_path / "marks"), Counter[str](), 0
    with StandIns(Settings(data_dir=traced.data), tmp_path / "logs", RUNS, LINES_PER_S) as servers:
        marks["rows stored"], _ = rows_after_kill(traced, tmp_path / "copy")
        for number in range(KILLS):
            traced.start()
            seen.update(kill_in(TARGETS[number % len(TARGETS)], traced, marks))
            rows, twice = rows_after_kill(traced, tmp_path / "copy")
            stored, on_their_way = marks["rows stored"], marks["rows on their way"]
            assert rows in (stored, stored + on_their_way), f"kill {number}: {stored} + {on_their_way}, found {rows}"
            assert twice == 0, f"kill {number}: {twice} rows twice"
            before, published = published, sum(n for _, n in traced.sql(ALL_ROWS))
            assert before <= published <= rows, f"kill {number}: what was published went back"
            marks["rows stored"], marks["rows on their way"] = rows, 0
        traced.start()
    wait_until(lambda: set(traced.states().values()) == {"finished"}, PATIENCE_S)
    wait_until(lambda: count_stored(traced) >= servers.count_lines(), PATIENCE_S, every_s=2)
    for run_id, log in traced.sql("SELECT run_id, log_path FROM runs"):
        stored_lines = traced.sql(f"SELECT line FROM log_samples WHERE run_id = '{run_id}' ORDER BY line")
        assert [line for (line,) in stored_lines] == [sample["line"] for sample in parsed_log(Path(log))["samples"]]
    rows = sum(n for _, n in traced.sql(ALL_ROWS))
    with capsys.disabled():
        text = ", ".join(f"{phase} {count}" for phase, count in seen.most_common())
        sys.stdout.write(f"\n{KILLS} kills, under way: {text}; {rows:,} rows, 0 lost, 0 twice\n")
    if len(TARGETS) <= KILLS:
        assert {"write", "publish", "seal", "checkpoint"} <= set(seen)
