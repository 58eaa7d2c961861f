"""Health: in words to the operator, in numbers without names or paths to everybody."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.logs.tail_collector import FollowCollector
from collectors.loop import CollectorLoop, Freshness
from domain import Config, Run
from reports.health import BEHIND_S, health_fields, health_sentences, is_fresh
from samples import Batch, Event
from settings import Settings
from storage.files.lost_files import LostFile
from storage.health import StoreHealth
from storage.store import Store
from storage.writer import Writer

WELL = StoreHealth(True, True, None, 0, 12.0, last_commit_age_s=1.0, published_age_s=2.0)
LOST = LostFile("events/run_id=r1/1.parquet", "events", "r1", 20, "the file is missing")


def test_all_is_well() -> None:
    live = [Freshness("r1", {"log": 10}, [])]
    assert is_fresh(WELL) and health_sentences(WELL, live, {"r1": "Run"}) == []


@pytest.mark.parametrize(
    ("store", "live", "words"),
    [
        (replace(WELL, ok=False, detail="Disk full."), [], "Pitwall keeps retrying. Disk full."),
        (replace(WELL, waiting_s=40.0, pending_rows=5000), [], "40 s behind: 5,000 rows wait to be written"),
        (replace(WELL, unpublished_s=90.0), [], "The published file is 90 s behind the store."),
        (WELL, [Freshness("r1", {"log": 2 << 30}, [])], "Run: 2,048 MiB of its log have not been read yet."),
        (
            WELL,
            [Freshness("r1", {}, ["endpoint"])],
            "Run: its endpoint collector does not respond; the rest of the run continues.",
        ),
        (replace(WELL, lost_files=(LOST,)), [], "Run r1: 20 rows of events are left out."),
    ],
)
def test_what_is_wrong_is_a_sentence(store: StoreHealth, live: list[Freshness], words: str) -> None:
    (health_sentence,) = health_sentences(store, live, {"r1": "Run"})
    assert words in health_sentence


@pytest.mark.parametrize("behind", ["waiting_s", "unpublished_s"])
def test_late_durability_or_publishing_is_stale(behind: str) -> None:
    assert is_fresh(replace(WELL, **{behind: BEHIND_S - 1})) and not is_fresh(replace(WELL, **{behind: BEHIND_S}))


def test_everybody_sees_numbers_and_no_path() -> None:
    bad = replace(WELL, ok=False, detail="/secret/path is full", lost_files=(LOST,), waiting_s=BEHIND_S)
    body = health_fields(bad, [Freshness("r1", {"log": 7}, ["gpu"])])
    assert not is_fresh(bad)
    assert body["runs_with_lost_files"] == ["r1"] and body["store"]["waiting_s"] == BEHIND_S
    assert body["runs"] == {"r1": {"unread_bytes": {"log": 7}, "hanging": ["gpu"]}}
    assert "/" not in json.dumps(body)


def wait_for(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.02)


@pytest.mark.publishes
def test_stuck_store_says_since_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    assert store.health().waiting_s == 0.0
    with monkeypatch.context() as failing:
        failing.setattr(Writer, "_try_commit", lambda self, batch: False)  # as on a full disk
        given = store.write(Batch((Event("r1", datetime.now(UTC), "state", "x"),)))
        wait_for(lambda: store.health().waiting_s > 0.05)
    given.result(60)
    wait_for(lambda: store.health().waiting_s == 0.0)
    age_s = store.health().last_commit_age_s
    assert age_s is not None and age_s < 60
    wait_for(lambda: store.health().unpublished_s == 0.0)
    assert store.health().published_age_s is not None
    store.close()


def test_the_loop_knows_how_far_a_log_is_read(tmp_path: Path) -> None:
    """The reader here takes no byte of what comes later: the file grows past what was read."""
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 1000)
    run = Run(id="r1", name="r1", color=0, machine_id="m", config=Config(), created_at=datetime.now(UTC))

    class Nothing:
        def feed(self, *_: object) -> list[object]:
            return []

        settled = 0

    collector = FollowCollector("log", lambda _: log, lambda _: Nothing(), lambda *_: None)  # type: ignore[arg-type,return-value]
    assert collector.unread_bytes("r1") is None, "nothing is followed yet"
    following = collector._follow(run)
    assert following is not None
    steps = following.tail.poll()
    next(steps)
    assert collector.unread_bytes("r1") == 0
    with log.open("ab") as file:
        file.write(b"y" * (1 << 20))
    assert next(following.tail.poll(), None) is not None
    assert 0 < (collector.unread_bytes("r1") or 0) < 1 << 20
    collector.forget("r1")
    assert CollectorLoop(lambda batch: None, list, [collector]).freshness() == []
