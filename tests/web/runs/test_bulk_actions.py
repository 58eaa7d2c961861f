"""What the Runs page does with the runs that are chosen in its table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState
from settings import Settings
from storage.queries.note_queries import notes
from storage.store import Store
from tests.web.conftest import ProvideServices

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
IDS = ["r1", "r2"]
PAGE = """
from storage.queries.note_queries import notes
from web.context import services
from web.runs.table.bulk_actions import bulk_actions

runs = services().store.runs_of({ids})
bulk_actions(runs, notes(services().store, {ids}), "k")
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    for run_id in (*IDS, "r3"):
        opened.save_run(
            Run(
                id=run_id, name=run_id, color=0, machine_id="m", created_at=NOW, ended_at=NOW, config=Config(),
                state=RunState.FINISHED,
            )
        )  # fmt: skip
    provide_services(SimpleNamespace(store=opened, settings=settings))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # this stands here without the app's other pages
    yield opened
    opened.close()


def page(ids: list[str]) -> AppTest:
    at = AppTest.from_string(PAGE.format(ids=ids), default_timeout=60).run()
    assert not at.exception
    return at


def press(at: AppTest, label: str) -> None:
    next(one for one in at.button if one.label == label).click().run()
    assert not at.exception


def test_selection_opens_compares_or_draws(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By links with the runs in their address; the one that was chosen last is compared to the one before."""
    links = list[tuple[str, object, bool]]()

    def page_link(page: str, *, query_params: dict[str, object], disabled: bool, **_: object) -> None:
        links.append((page, query_params["run"], disabled))

    monkeypatch.setattr("streamlit.page_link", page_link)
    page(IDS[:1])
    page(IDS)
    assert links == [
        ("../pages/run.py", ["r1"], False),
        ("../pages/compare.py", ["r1"], True),
        ("../pages/live.py", ["r1"], False),
        ("../pages/run.py", ["r1", "r2"], True),
        ("../pages/compare.py", ["r2", "r1"], False),
        ("../pages/live.py", ["r1", "r2"], False),
    ]


def test_nothing_is_offered_for_no_run(store: Store) -> None:
    assert all(one.disabled for one in page([]).button if one.label not in ("Add", "Remove"))


def test_stars_are_set_and_removed_in_bulk(store: Store) -> None:
    at = page(IDS)
    press(at, "Star")
    assert {run_id: note.is_starred for run_id, note in notes(store, [*IDS, "r3"]).items()} == {
        "r1": True, "r2": True, "r3": False,
    }  # fmt: skip
    press(at, "Remove stars")
    assert not any(note.is_starred for note in notes(store, IDS).values())


def test_where_some_are_archived_all_become_so(store: Store) -> None:
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"is_archived": True}))
    press(page(IDS), "Archive")
    found = notes(store, IDS)
    assert all(note.is_archived for note in found.values())
    assert [found["r1"].version, found["r2"].version] == [1, 1], "of what is so already there is no new version"


def test_tags_are_added_and_removed(store: Store) -> None:
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"tags": ("old", "fp8")}))
    at = page(IDS)
    at.multiselect[0].set_value(["fp8"])
    press(at, "Add")
    assert [note.tags for note in notes(store, IDS).values()] == [("old", "fp8"), ("fp8",)]
    at.multiselect[0].set_value(["fp8"])
    press(at, "Remove")
    assert [note.tags for note in notes(store, IDS).values()] == [("old",), ()]
