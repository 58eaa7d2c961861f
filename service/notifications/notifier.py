"""The thread that notifies: it looks for new events, stores them per channel and sends them until they arrive."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from domain import utc_now
from machine.json_object import read_object
from machine.private_files import write_private
from machine.regular_file import NotRegularError
from redaction import KNOWN
from service.notifications.backlog import Backlog
from service.notifications.channels import ChannelBook, NotificationChannel
from service.notifications.delivery import DeliveryError, deliver
from service.notifications.notification import Notification
from service.notifications.recorded_events import EventReader
from service.notifications.store_watch import StoreWatch
from settings import Settings
from storage.published_query import QUERY_FAILURES
from storage.store import Store

LOOK_EVERY_S = 5.0
OVERLAP = timedelta(hours=6)  # rows may be committed that much after their time, as when a disk was full
LONGEST_ABSENCE = timedelta(days=1)  # older events are not reported when Pitwall comes back
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 1800.0  # after a failed delivery, twice as long each time
MOST_PER_TURN = 20  # of one channel, so that none waits long for another
STATE_BYTES = 1 << 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How the delivery to a channel goes, since the start."""

    sent: int = 0
    last_sent_at: datetime | None = None
    failures: int = 0  # in a row
    failure: str | None = None
    retry_at_s: float = 0.0  # monotonic
    waiting: int = 0
    dropped: int = 0


class Notifier:
    """Reads events every few seconds; `tick` may be called directly. Nothing waits for this thread."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Callable[[], datetime] = utc_now,
        send: Callable[[NotificationChannel, Notification], None] = deliver,
    ) -> None:
        self.channels = ChannelBook(settings.notify_path)
        self.states: Mapping[str, ChannelState] = {}
        self._store, self._clock, self._send = store, clock, send
        self._events = EventReader(store, settings.url)
        self._store_watch = StoreWatch(settings.data_dir, settings.url)
        self._backlog = Backlog(settings.notifications_dir)
        self._state_path = settings.notifications_dir / "state.json"
        self._progress: _Progress | None = None  # None: not read yet
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifications", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """End after the current delivery; what waits is sent after the next start."""
        self._closing.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            try:
                self.tick()
            except QUERY_FAILURES as error:
                _log.warning("Events could not be read for notifications: %s", str(error).splitlines()[0])
            except Exception:
                _log.exception("notifications failed")

    def tick(self) -> None:
        """Look once for new events and send what is due. Raises duckdb.Error, StoreError."""
        channels = self.channels.all()
        for channel in channels:
            KNOWN.add(filter(None, [channel.url]))
        now = self._clock()
        if not channels:
            self._progress = _Progress(now, now)
        self._add(channels, self._store_watch.look(self._store.health(), now) if channels else [])
        try:
            if channels:
                self._collect(channels, now)
        finally:  # what waits is sent even while the store cannot be read
            self._backlog.keep_only({channel.name for channel in channels})
            for channel in channels:
                if not self._closing.is_set():
                    self._send_due(channel)

    def _collect(self, channels: Sequence[NotificationChannel], now: datetime) -> None:
        progress = self._progress or _read_progress(self._state_path, now)
        events = self._events.read(progress.since - OVERLAP)
        new_events = [
            event for event in events if event.id not in progress.event_times and event.at > progress.began_at
        ]
        self._add(channels, new_events)
        progress = progress.after(now, new_events)
        if new_events or progress.written_at is None or now - progress.written_at > OVERLAP / 2:
            progress = replace(progress, written_at=now)
            try:
                write_private(self._state_path, progress.to_json())
            except OSError as error:  # after a restart, the newest notifications may be sent once more
                _log.warning("The progress of notifications was not written: %s", error.strerror)
        self._progress = progress

    def _add(self, channels: Sequence[NotificationChannel], events: Sequence[Notification]) -> None:
        for event in events:
            for channel in channels:
                if event.kind in channel.events and event.at > channel.added_at:
                    self._backlog.add(channel.name, event)

    def _send_due(self, channel: NotificationChannel) -> None:
        state = self.states.get(channel.name, ChannelState())
        if time.monotonic() >= state.retry_at_s and not channel.is_quiet(self._clock()):
            state = self._send_waiting(channel, state)
        waiting, dropped = self._backlog.count(channel.name), self._backlog.dropped(channel.name)
        self.states = {**self.states, channel.name: replace(state, waiting=waiting, dropped=dropped)}

    def _send_waiting(self, channel: NotificationChannel, state: ChannelState) -> ChannelState:
        """Send the oldest waiting messages; the first failure pauses the channel."""
        for number, (name, notification) in enumerate(self._backlog.waiting(channel.name)):
            if number >= MOST_PER_TURN or self._closing.is_set():
                break
            try:
                self._send(channel, notification)
            except DeliveryError as error:
                pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**state.failures) * random.uniform(0.8, 1.0)
                if not state.failures:
                    _log.warning("A notification to the channel %s waits: %s", channel.name, error)
                return replace(
                    state, failures=state.failures + 1, failure=str(error), retry_at_s=time.monotonic() + pause_s
                )
            self._backlog.remove(channel.name, name)
            state = replace(state, sent=state.sent + 1, last_sent_at=self._clock(), failures=0, failure=None)
        return state


@dataclass(frozen=True)
class _Progress:
    """Up to when events were read, and the recent ones; events from before `began_at` are not reported."""

    since: datetime
    began_at: datetime
    event_times: Mapping[str, datetime] = field(default_factory=dict)  # of recent events, by id
    written_at: datetime | None = None  # None: not yet

    def after(self, now: datetime, events: Sequence[Notification]) -> _Progress:
        """Return the progress once these events are stored; ids are remembered as long as their rows are read."""
        event_times = {**self.event_times, **{event.id: event.at for event in events}}
        oldest = now - 2 * OVERLAP
        recent_times = {event_id: at for event_id, at in event_times.items() if at > oldest}
        return replace(self, since=now, event_times=recent_times)

    def to_json(self) -> bytes:
        """Return the content of the file."""
        event_times = {event_id: at.isoformat() for event_id, at in self.event_times.items()}
        return json.dumps({"since": self.since.isoformat(), "event_times": event_times}).encode()


def _read_progress(path: Path, now: datetime) -> _Progress:
    """Return the progress of the last process; without a valid file, nothing before now is reported."""
    try:
        stored = read_object(path, STATE_BYTES)
        since = datetime.fromisoformat(stored["since"])
        stored_times = dict(stored["event_times"])
        event_times = {str(event_id): datetime.fromisoformat(at) for event_id, at in stored_times.items()}
        oldest = now - LONGEST_ABSENCE
        return _Progress(min(max(since, oldest), now), oldest, event_times)
    except FileNotFoundError:
        return _Progress(now, now)
    except (OSError, RuntimeError, NotRegularError, ValueError, TypeError, KeyError, AttributeError):
        _log.warning("%s is invalid: notifications begin with what happens now.", path)
        return _Progress(now, now)
