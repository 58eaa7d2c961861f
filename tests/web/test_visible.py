"""What the pages may speak of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from domain import Config, Run, Share
from settings import Settings
from storage.store import Store
from web.visible import visible_runs

T0 = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    for number in range(5):
        store.save_run(
            Run(id=f"r{number}", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0)
        )
    share = Share(id="s", run_ids=("r1",), page="live", created_at=T0, created_by="operator", expires_at=T0)
    book = SimpleNamespace(find_open=lambda share_id: share)
    monkeypatch.setattr("web.context._provided", [SimpleNamespace(store=store, shares=book)])
    yield store
    store.close()


def test_an_address_may_name_a_run_that_is_older_than_those_offered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.visible.current_role", lambda: "operator")
    named = ["r0", "r4", "none"]
    assert [run.id for run in visible_runs(2, named)] == ["r4", "r3", "r0"]


def test_a_guest_sees_the_shared_runs_whatever_the_address_names(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.visible.current_role", lambda: "guest")
    monkeypatch.setattr("web.visible.current_share_id", lambda: "s")
    assert [run.id for run in visible_runs(2, ["r0"])] == ["r1"]
