"""Pitwall without pages that watches a server and drives its own loads and other tools against it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from domain import Config, JsonValue, Run, RunState, WorkloadSpec
from service.core import Core, opened_core
from settings import Settings
from storage.store import Store
from workloads.process.external_tools import PREFIX, tool_of

LIMIT_S = 300.0
LOOK_EVERY_S = 0.2
REQUESTS = (
    "SELECT sent_at, ttft_ms, total_ms, completion_tokens, error_kind, error_text, CAST(extra AS VARCHAR) AS extra "
    "FROM requests WHERE run_id = ? AND load_id = ? AND phase = 'measure' ORDER BY sent_at"
)
LOADS = "SELECT load_id, tool, tool_version, tool_command FROM loads WHERE run_id = ?"


class FinishedLoad(NamedTuple):
    """A finished load with its rows in the store; `steps` are the progress values that were read."""

    load_id: str
    version: str | None
    requests: list[dict[str, Any]]
    steps: int
    seconds: float


class LoadDriver:
    """Drives loads on one run."""

    def __init__(self, core: Core, data: Path, run: Run) -> None:
        self._core, self._data, self._run = core, data, run

    @property
    def store(self) -> Store:
        return self._core.store

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Query the store."""
        return list(self.store.query(sql, list(values)).to_pylist())

    def put(self, name: str, params: Mapping[str, JsonValue]) -> FinishedLoad:
        """Start a load as the page does, and wait for its end and its stored results; exits if it failed."""
        earlier_ids = {row["load_id"] for row in self._loads()}
        began_s = time.monotonic()
        self._core.supervisor.start_load(self._run.id, WorkloadSpec(name=name, params=dict(params)))
        steps = self._until_it_ended()
        wait_until(lambda: len(self._loads()) > len(earlier_ids) or self._refusal(), f"{name}: no load is in the store")
        if refusal := self._refusal():
            sys.exit(f"{name}: {refusal}")
        (load,) = [row for row in self._loads() if row["load_id"] not in earlier_ids]
        requests = self._settled(load["load_id"], params if not tool_of(name) else {})
        return FinishedLoad(load["load_id"], load["tool_version"], requests, steps, time.monotonic() - began_s)

    def _loads(self) -> list[dict[str, Any]]:
        return self.rows("SELECT load_id, tool_version FROM loads WHERE run_id = ?", self._run.id)

    def _until_it_ended(self) -> int:
        steps_seen: set[str] = set()

        def has_ended() -> bool:
            for progress in self._data.glob("runs/*/workload*/progress.json"):
                steps_seen.add(progress.read_text())
            run = self.store.run(self._run.id)
            return run is not None and run.state is RunState.READY

        wait_until(has_ended, "the load did not end")
        self._check_how_it_ended()
        return len(steps_seen)

    def _check_how_it_ended(self) -> None:
        sql = "SELECT text, data FROM events WHERE run_id = ? AND kind = 'workload' ORDER BY ts DESC LIMIT 1"
        newest = max(self._data.glob("runs/*/workload*"), key=lambda folder: folder.stat().st_mtime)
        texts = [row["text"] for row in self.rows(sql, self._run.id)]
        if any("exited with code 0" not in text and "imported" not in text for text in texts):
            sys.exit(f"{texts}\n{(newest / 'workload.log').read_text(errors='replace')[-2000:]}")

    def _refusal(self) -> str | None:
        for status in self._data.glob("inbox/*.status.json"):
            if '"refused"' in status.read_text():
                return status.read_text()
        return None

    def _settled(self, load_id: str, params: Mapping[str, JsonValue]) -> list[dict[str, Any]]:
        """Wait for the rows of Pitwall's own loads, which the collector brings in steps."""
        request_count = params.get("requests")

        def request_rows() -> list[dict[str, Any]]:
            return self.rows(REQUESTS, self._run.id, load_id)

        if request_count:
            wait_until(lambda: len(request_rows()) >= int(str(request_count)), "requests are missing in the store")
        return request_rows()

    def mean_of(self, load_id: str, metric: str) -> float | None:
        """Return the mean from the load's own results."""
        sql = "SELECT value FROM results WHERE run_id = ? AND load_id = ? AND metric = ? AND statistic = 'mean'"
        values = [row["value"] for row in self.rows(sql, self._run.id, load_id, metric)]
        return values[0] if len(values) == 1 else None


@contextmanager
def driving(data: Path, base_url: str, config: Config) -> Iterator[LoadDriver]:
    """Attach the server at this URL as a run."""
    with opened_core(Settings(data_dir=data)) as core:
        run = core.supervisor.attach(base_url, config)
        wait_until(lambda: (now := core.store.run(run.id)) and now.state is RunState.READY, "the run is not ready")
        try:
            yield LoadDriver(core, data, run)
        finally:
            core.supervisor.stop(run.id)


def wait_until(holds: Callable[[], object], failure: str, limit_s: float = LIMIT_S) -> None:
    ends = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > ends:
            sys.exit(f"{failure} within {limit_s:g} s")
        time.sleep(LOOK_EVERY_S)


def drive_name(tool: str) -> str:
    return PREFIX + tool
