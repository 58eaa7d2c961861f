"""The thread that ships sealed files to a configured lake in the background."""

from __future__ import annotations

import logging
import random
import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from domain import utc_now
from errors import PitwallError
from redaction import mask_text
from settings import Settings
from storage.store import Store

if TYPE_CHECKING:  # loaded only with a lake
    from storage.lake.config import LakeConfig
    from storage.lake.ship import Shipper

LOG = logging.getLogger(__name__)
SHIP_INTERVAL_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0  # after a failure, twice as long each time


@dataclass(frozen=True, slots=True)
class ShippingState:
    """The state of shipping; `waiting_*` None: the lake has not answered since the start."""

    is_configured: bool = False
    last_try_at: datetime | None = None
    last_shipped_at: datetime | None = None
    shipped_parts: int = 0  # since the start
    shipped_rows: int = 0
    waiting_parts: int | None = None
    waiting_runs: int | None = None
    failure: str | None = None
    in_clear: tuple[str, ...] = ()  # a warning per unencrypted connection to the lake


class LakeShipping:
    """Ships once a minute and retries after failures with back-off; the backlog is the store's own files."""

    def __init__(self, settings: Settings, store: Store, every_s: float = SHIP_INTERVAL_S) -> None:
        self.state = ShippingState()
        self._settings = settings
        self._store = store
        self._every_s = every_s
        self._failures = 0
        self._shipper: tuple[LakeConfig, Shipper] | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lake-shipper", daemon=True)

    def start(self) -> None:
        """Start shipping in a thread; without a lake it checks for a configuration once a minute."""
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """End after the current commit; a hanging commit ends with the process, and the next one looks it up."""
        self._closing.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._closing.is_set():
            self.tick()
            self._closing.wait(self._pause_s())

    def _pause_s(self) -> float:
        if not self._failures:
            return self._every_s
        longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self._failures - 1))
        return longest * random.uniform(0.5, 1.0)  # machines that lost the lake do not retry all at once

    def tick(self) -> None:
        """Try once; errors go to `state.failure` and affect only this thread."""
        try:
            self._ship()
            self._failures = 0
        except PitwallError as error:
            self._note_failure(str(error))
        except Exception as error:
            LOG.exception("shipping to the lake failed")
            self._note_failure(f"internal error: {type(error).__name__}")

    def _note_failure(self, reason: str) -> None:
        self._failures += 1
        self._note(failure=reason, last_try_at=utc_now())

    def _ship(self) -> None:
        prepared = self._configured_shipper()
        if prepared is None:
            return
        config, shipper = prepared
        from storage.lake.connection import opened_lake

        if shipper.has_work():
            with opened_lake(config) as connection:
                while not self._closing.is_set():
                    result = shipper.ship(connection)
                    if not (result.parts or result.records):
                        break
                    self._note_shipped(result.parts, result.rows)
        waiting = shipper.waiting()
        runs = len({part.run_id for part in waiting})
        self._note(failure=None, last_try_at=utc_now(), waiting_parts=len(waiting), waiting_runs=runs)

    def _note_shipped(self, parts: int, rows: int) -> None:
        before = self.state
        self._note(
            last_shipped_at=utc_now(),
            shipped_parts=before.shipped_parts + parts,
            shipped_rows=before.shipped_rows + rows,
        )

    def _configured_shipper(self) -> tuple[LakeConfig, Shipper] | None:
        """The shipper of the configured lake; None without one."""
        if not self._settings.lake_path.exists():
            self._shipper, self.state = None, ShippingState()
            return None
        from storage.lake.config import required_config
        from storage.lake.owner import owner_id
        from storage.lake.ship import Shipper
        from storage.lake.tls import in_clear

        self._note(is_configured=True)
        config = required_config(self._settings)
        self._note(in_clear=tuple(in_clear(config)))
        if self._shipper is None or self._shipper[0] != config:
            folder = self._settings.parquet_dir.absolute()
            self._shipper = config, Shipper(config, owner_id(self._settings), self._store.query, folder, mask_text)
        return self._shipper

    def _note(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
