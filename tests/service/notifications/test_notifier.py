"""Events of a real store become notifications that no failing receiver loses, and that arrive once."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import AuditEntry, Config, Run, RunState, Share, Study
from samples import Batch, Event, HostSample
from service.notifications import backlog, notifier, store_watch
from service.notifications.channels import ChannelKind, NotificationChannel, QuietHours
from service.notifications.delivery import DeliveryError
from service.notifications.notification import Notification, NotificationKind
from service.notifications.notifier import Notifier
from service.notifications.recorded_events import RUN_PAGE, STUDY_PAGE, is_regression
from settings import Settings
from storage.store import Store
from tests.service.notifications.test_delivery import channel_to, running_receiver
from web.page_paths import PATHS

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECRET = "sk-abcdefghijklmnopqrstuvwx12345678"


class Clock:
    """The notifier's time; one minute later at each look."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Recipient:
    """Receives notifications in the process, or refuses them."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Notification]] = []
        self.refusals: dict[str, str] = {}

    def __call__(self, channel: NotificationChannel, notification: Notification) -> None:
        if channel.name in self.refusals:
            raise DeliveryError(self.refusals[channel.name])
        self.received.append((channel.name, notification))

    def kinds(self, name: str = "hook") -> list[str]:
        return [notification.kind for channel_name, notification in self.received if channel_name == name]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "FIRST_PAUSE_S", 0.0)


@pytest.fixture
def recipient() -> Recipient:
    return Recipient()


@pytest.fixture
def make(settings: Settings, store: Store, recipient: Recipient) -> Callable[..., Notifier]:
    clock = Clock()
    return lambda send=recipient: Notifier(settings, store, clock, send)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def failed_run(run_id: str, **fields: Any) -> Run:
    values = {"cause": f"CUDA out of memory. key {SECRET}", "ended_at": at(5), "started_at": at(1)} | fields
    return Run(id=run_id, name=f"arm {run_id}", color=0, config=Config(), machine_id="m", created_at=NOW,
               state=RunState.FAILED, **values)  # fmt: skip


def ended_study(study_id: str, question: str, answer: dict[str, Any]) -> Study:
    return Study(id=study_id, title="before or after", question=question, state="ended", created_at=NOW,
                 updated_at=at(6), plan={}, answer=answer)  # fmt: skip


ARMS = [{"name": "before"}, {"name": "after"}]


def record_all_kinds(store: Store) -> None:
    store.save_run(failed_run("r1"))
    store.save_run(failed_run("r2", cause="The workload exited with code 1. no server"))
    store.write(Batch((
        Event("r2", at(4), "workload", "The workload exited with code 1. no server", data={"is_well": False}),
        Event("r2", at(3), "workload", "The workload exited with code 0.", data={"is_well": True}),
    ))).result()  # fmt: skip
    store.save_study(
        ended_study("s1", "which", {"answer": "winner", "winner": "after", "arms": ARMS, "reasons": ["A"]})
    )
    store.save_study(ended_study("s2", "upgrade", {"answer": "winner", "winner": "before", "arms": ARMS}))
    store.save_share(Share(id="l1", run_ids=("r1",), page="live", created_at=NOW, created_by="operator",
                           expires_at=at(9_999), note="for Ann"))  # fmt: skip
    store.record([AuditEntry(at(7), "guest", "open link", None, "link l1")]).result()


def test_every_event_notifies_once(make: Callable[..., Notifier], store: Store, recipient: Recipient) -> None:
    started = make()
    started.channels.add(channel_to("https://hooks.example/x"))
    started.tick()
    record_all_kinds(store)
    for _ in range(3):
        started.tick()
    assert sorted(recipient.kinds()) == sorted(set(NotificationKind) - {NotificationKind.STORE_TROUBLE})
    texts = {notification.kind: notification for _, notification in recipient.received}
    failed = texts["server_failed"]
    assert "CUDA out of memory" in failed.text and SECRET not in failed.text
    assert failed.link == "http://127.0.0.1:8501/run?run=r1"
    assert texts["load_failed"].text == "arm r2: The workload exited with code 1. no server"
    assert texts["share_opened"].text.startswith("for Ann")
    make().tick()  # after a restart
    assert len(recipient.received) == len(texts)
    assert {RUN_PAGE, STUDY_PAGE} <= set(PATHS)


def test_what_happened_before_a_channel_is_not_reported(
    make: Callable[..., Notifier], store: Store, recipient: Recipient
) -> None:
    started = make()
    started.tick()
    store.save_run(failed_run("r1"))
    started.channels.add(channel_to("https://hooks.example/x", added_at=at(60)))
    started.tick()
    assert recipient.received == []


def test_end_while_pitwall_was_away_is_reported(
    make: Callable[..., Notifier], store: Store, recipient: Recipient
) -> None:
    first = make()
    first.channels.add(channel_to("https://hooks.example/x"))
    first.tick()
    store.save_run(failed_run("r1"))
    make().tick()
    assert recipient.kinds() == ["server_failed"]


def test_channel_gets_its_events_outside_its_quiet_hours(
    make: Callable[..., Notifier], store: Store, recipient: Recipient
) -> None:
    started = make()
    local = NOW.astimezone()
    begin, end = (local - timedelta(hours=1)).time(), (local + timedelta(hours=1)).time()
    quiet = QuietHours(begin=begin, end=end)
    for name, fields in {
        "loads": {"events": (NotificationKind.LOAD_FAILED,)}, "quiet": {"quiet_hours": quiet},
    }.items():  # fmt: skip
        started.channels.add(channel_to("https://hooks.example/x", name=name, **fields))
    started.tick()
    record_all_kinds(store)
    started.tick()
    assert recipient.kinds("loads") == ["load_failed"] and recipient.kinds("quiet") == []
    assert started.states["quiet"].waiting == 5
    started.channels.add(channel_to("https://hooks.example/x", name="quiet"))  # the same without quiet hours
    started.tick()
    assert len(recipient.kinds("quiet")) == 5, "what waited is sent"


def test_failing_receiver_loses_nothing_and_delays_no_other(
    make: Callable[..., Notifier], store: Store, recipient: Recipient, settings: Settings
) -> None:
    started = make()
    for name in ("away", "hook"):
        started.channels.add(channel_to("https://hooks.example/x", name=name))
    recipient.refusals["away"] = "hooks.example: it answered with status 500."
    started.tick()
    record_all_kinds(store)
    started.tick()
    started.tick()
    assert len(recipient.kinds("hook")) == 5 and recipient.kinds("away") == []
    assert (started.states["away"].failures, started.states["away"].waiting) == (2, 5)
    restarted = make()
    restarted.tick()
    recipient.refusals.clear()
    restarted.tick()
    assert sorted(recipient.kinds("away")) == sorted(recipient.kinds("hook"))
    restarted.channels.remove("away")
    restarted.tick()
    assert not (settings.notifications_dir / "away").exists()


def test_backlog_is_bounded_and_counts_what_it_drops(
    make: Callable[..., Notifier], store: Store, recipient: Recipient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "MOST_WAITING", 3)
    started = make()
    started.channels.add(channel_to("https://hooks.example/x"))
    recipient.refusals["hook"] = "it is away."
    started.tick()
    record_all_kinds(store)
    started.tick()
    assert (started.states["hook"].waiting, started.states["hook"].dropped) == (3, 2)


def test_full_disk_is_reported_once_although_nothing_can_be_written(
    make: Callable[..., Notifier], recipient: Recipient, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = make()
    started.channels.add(channel_to("https://hooks.example/x"))
    started.tick()

    def full(path: Path, content: bytes, is_durable: bool = True) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for module in (backlog, notifier):
        monkeypatch.setattr(module, "write_private", full)
    monkeypatch.setattr(store_watch, "LEAST_FREE_BYTES", 1 << 60)
    monkeypatch.setattr(store_watch, "LEAST_FREE_SHARE", 1.1)
    for _ in range(3):
        started.tick()
    assert recipient.kinds() == ["store_trouble"] and "almost full" in recipient.received[0][1].text


def test_invalid_files_do_not_stop_notifications(
    make: Callable[..., Notifier], store: Store, recipient: Recipient, settings: Settings
) -> None:
    folder = settings.notifications_dir / "hook"
    folder.mkdir(parents=True)
    (folder / "0-broken.json").write_text("{")
    (settings.notifications_dir / "state.json").write_text('{"since": 3}')
    started = make()
    started.channels.add(channel_to("https://hooks.example/x"))
    started.tick()
    store.save_run(failed_run("r1"))
    started.tick()
    assert recipient.kinds() == ["server_failed"] and not (folder / "0-broken.json").exists()


def test_regression_is_the_earlier_arm_winning_an_upgrade() -> None:
    won = {"answer": "winner", "winner": "before", "arms": ARMS}
    assert is_regression(ended_study("s", "upgrade", won))
    assert is_regression(ended_study("s", "upgrade", {"workloads": [won | {"winner": None}, won], "winner": None}))
    assert not is_regression(ended_study("s", "upgrade", won | {"winner": "after"}))
    assert not is_regression(ended_study("s", "which", won))


@pytest.mark.wide
def test_receiver_that_fails_hangs_and_redirects_delays_no_sample(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real receiver, the real thread, and a writer of samples beside it that is timed."""
    monkeypatch.setattr(notifier, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr("service.notifications.delivery.SILENCE_S", 1.0)
    started = Notifier(settings, store)
    with running_receiver() as receiver:
        started.channels.add(channel_to(receiver.url, ChannelKind.JSON, added_at=NOW))
        started.tick()
        started.start()
        slowest_s, count = 0.0, 0
        for number, trouble in enumerate(("status", "hang", "redirect")):
            receiver.status = {"status": 503, "redirect": 308}.get(trouble, 200)
            receiver.location, receiver.is_hanging = receiver.url if trouble == "redirect" else "", trouble == "hang"
            store.save_run(failed_run(f"r{number}", ended_at=datetime.now(UTC)))
            end_s = time.monotonic() + 2.0
            while time.monotonic() < end_s:
                began_s = time.monotonic()
                store.write(Batch((HostSample("r0", datetime.now(UTC), began_s, "m", cpu_ratio=1.0),))).result()
                slowest_s, count = max(slowest_s, time.monotonic() - began_s), count + 1
                time.sleep(0.02)
        assert started.states["hook"].failures > 0 and started.states["hook"].sent == 0
        receiver.requests.clear()
        receiver.status, receiver.location, receiver.is_hanging = 200, "", False
        receiver.released.set()
        _wait_until(lambda: {body["id"] for _, body in receiver.requests} == {f"run:r{n}:failed" for n in range(3)})
        assert len(receiver.requests) == 3, "each once"
    started.close(10)
    assert count > 20 and slowest_s < 1.0, f"{count} samples, the slowest was durable after {slowest_s:.2f} s"


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline_s
        threading.Event().wait(0.05)
