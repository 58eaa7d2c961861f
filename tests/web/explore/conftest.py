"""A store of many runs, which Explore is opened on."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from service.run_lines import RunLineKeeper
from settings import Settings
from storage.store import Store
from tests.many_runs import many_runs
from tests.web.conftest import ProvideServices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("explore") / "data")
    store = Store.open(settings)
    many_runs(store)
    keeper = RunLineKeeper(store)
    while keeper.keep_next():
        pass
    store.publish()
    yield store, settings
    store.close()


@pytest.fixture
def store(folder: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Store:
    provide_services(SimpleNamespace(store=folder[0], settings=folder[1], fleet=None))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    return folder[0]
