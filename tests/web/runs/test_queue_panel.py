"""The queue on the Runs page: what each run waits for, and the question after a failed first start of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState, WorkloadSpec
from launcher.runs.queue import QueueWait
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices
from web.context import services
from web.runs.queue_words import wait_text

PAGE = """
from web.runs.queue_panel import queue

queue()
"""
NO_DAEMON = "docker could not start the container: docker: Cannot connect to the Docker daemon."


def queued(number: int, **fields: Any) -> Run:
    run = Run(
        id=f"r{number}",
        name=f"docker #{number}",
        color=0,
        config=Config(port=8000),
        base_url="http://127.0.0.1:8000",
        machine_id="m",
        created_at=datetime.now(UTC),
        batch_id="batch",
        workload=WorkloadSpec(name="load"),
        queue_position=float(number),
    )
    return run.model_copy(update=fields)


class QueueOfRuns:
    """FAKE supervisor: keeps what it is told to do."""

    def __init__(self, waiting: list[Run]) -> None:
        self.waiting, self.calls = waiting, list[tuple[str, str]]()
        self.failures = {"batch": "r1"}
        self.is_queue_on_hold = False

    def queued_runs(self) -> list[Run]:
        return self.waiting

    def live_runs(self) -> list[Run]:
        return []

    def queue_waits(self) -> dict[str, QueueWait]:
        return {"r2": QueueWait(failed_start="r1"), "r3": QueueWait(("vllm",)), "r4": QueueWait()}

    def failed_starts(self) -> dict[str, str]:
        return self.failures

    def release_batch(self, batch_id: str) -> None:
        self.calls.append(("release", batch_id))

    def cancel(self, run_id: str) -> None:
        self.calls.append(("cancel", run_id))


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Any]:
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings)
    store.save_run(queued(1, state=RunState.FAILED, cause=NO_DAEMON))
    supervisor = QueueOfRuns([queued(2), queued(3), queued(4, batch_id="other", name="vllm")])
    provide_services(SimpleNamespace(store=store, supervisor=supervisor, settings=settings))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    yield supervisor
    store.close()


def test_failed_first_start_asks_about_rest(supervisor: QueueOfRuns) -> None:
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception
    (question,) = at.warning
    assert "docker #1" in question.value.replace("\\", "") and "Cannot connect" in question.value
    assert "2 other runs wait for your decision" in question.value
    at.button(key="release-batch").click().run()
    at.button(key="drop-batch").click().run()
    assert supervisor.calls == [("release", "batch"), ("cancel", "r2"), ("cancel", "r3")]


@pytest.mark.parametrize(
    ("wait", "is_on_hold", "text"),
    [
        (QueueWait(), False, "starts next"),
        (QueueWait(("A",)), False, "waits for A"),
        (QueueWait(("A", "B")), False, "waits for A and B"),
        (QueueWait(("A", "B", "C")), False, "waits for A, B and 1 more run"),
        (QueueWait(("A", "B", "C", "D")), False, "waits for A, B and 2 more runs"),
        (QueueWait(("A",)), True, "the queue is on hold"),
        (QueueWait(failed_start="r1"), True, "waits for your decision about its batch"),
    ],
)
def test_wait_names_the_runs_ahead(wait: QueueWait, is_on_hold: bool, text: str) -> None:
    assert wait_text(wait, is_on_hold) == text


def test_rows_say_what_they_wait_for(supervisor: QueueOfRuns) -> None:
    now = datetime.now(UTC)
    took = {"state": RunState.FINISHED, "started_at": now - timedelta(minutes=9), "ended_at": now}
    services().store.save_run(queued(9, **took))
    supervisor.failures = {}
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    rows = [markdown.value.replace("\\", "").split("[")[1] for markdown in at.markdown if "queued at" in markdown.value]
    assert [row.partition(";")[0] for row in rows] == [
        "waits for your decision about its batch",
        "waits for vllm, about 9:00 more",
        "starts next, about 18:00 more",
    ]


def test_cancelling_all_asks_first(supervisor: QueueOfRuns) -> None:
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert "Cancel all waiting runs" in [element.proto.popover.label for element in at.get("popover")]
    assert "3 runs leave the queue, listed as cancelled." in [markdown.value for markdown in at.markdown]
    at.button(key="queue-cancel").click().run()
    assert supervisor.calls == [("cancel", run_id) for run_id in ("r2", "r3", "r4")]
