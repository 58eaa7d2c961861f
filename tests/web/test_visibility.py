"""Runs that the pages may show."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from domain import Config, Run, Share
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices
from web.visibility import visible_runs

T0 = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, provide_services: ProvideServices) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    for number in range(5):
        store.save_run(
            Run(id=f"r{number}", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0)
        )
    share = Share(id="s", run_ids=("r1",), page="live", created_at=T0, created_by="operator", expires_at=T0)
    book = SimpleNamespace(find_open=lambda share_id: share)
    provide_services(SimpleNamespace(store=store, shares=book))
    yield store
    store.close()


def test_address_may_name_an_older_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.visibility.current_role", lambda: "operator")
    texts = ["r0", "r4", "none"]
    assert [run.id for run in visible_runs(2, texts)] == ["r4", "r3", "r0"]


def test_guest_sees_shared_runs_at_any_address(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.visibility.current_role", lambda: "guest")
    monkeypatch.setattr("web.visibility.current_share_id", lambda: "s")
    assert [run.id for run in visible_runs(2, ["r0"])] == ["r1"]
