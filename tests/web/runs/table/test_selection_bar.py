"""The selection bar: it acts on every ticked run, listed or not, and what it archives or deletes comes back."""

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
from web.runs.table.ticked_runs import TICKED

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
IDS = ["r1", "r2"]
PAGE = """
from web.context import services
from web.runs.table.selection_bar import selection_bar
from web.runs.undo_notice import undo_notice

selection_bar(services().store, {listed})
undo_notice()
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


def page(ids: list[str], listed: list[str] | None = None) -> AppTest:
    """The bar of a page that lists `listed`, by default every ticked run."""
    at = AppTest.from_string(PAGE.format(listed=ids if listed is None else listed), default_timeout=60)
    at.session_state[TICKED] = frozenset(ids)
    at.run()
    assert not at.exception
    return at


def press(at: AppTest, label: str) -> None:
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception


def texts(at: AppTest) -> list[str]:
    return [*(str(text.value) for text in at.markdown), *(str(html.proto.body) for html in at.get("html"))]


def test_selection_is_compared_or_drawn(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By links with the runs in their address; the newest is compared to the one before."""
    links = list[tuple[str, str, object, bool]]()

    def page_link(
        page: str, *, label: str, query_params: dict[str, object], disabled: bool = False, **_: object
    ) -> None:
        links.append((page, label, query_params["run"], disabled))

    monkeypatch.setattr("streamlit.page_link", page_link)
    page(IDS[:1])
    page(IDS)
    assert links == [
        ("../pages/compare.py", "Compare", ["r1"], True),
        ("../pages/live.py", "Overlay on Live", ["r1"], False),
        ("../pages/compare.py", "Compare", ["r1", "r2"], False),
        ("../pages/live.py", "Overlay on Live", ["r2", "r1"], False),
    ]


def test_no_tick_no_bar(store: Store) -> None:
    assert not page([]).button and not page(["gone"]).button


def test_bar_counts_what_a_filter_hides(store: Store) -> None:
    assert texts(page(IDS)) == ["**2 selected**"]
    assert texts(page(IDS, ["r2", "r3"])) == ["**2 selected**, 1 not listed"]


def test_clear_removes_every_tick(store: Store) -> None:
    at = page(IDS)
    press(at, "Clear")
    assert not at.button and at.session_state[TICKED] == frozenset()


def test_guest_has_links_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    assert [button.label for button in page(IDS).button] == ["Clear"]


def test_archived_runs_lose_their_ticks_and_come_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"is_archived": True}))
    at = page(["r1", "r2", "r3"])
    press(at, "Archive")
    assert all(note.is_archived for note in notes(store, ["r1", "r2", "r3"]).values())
    assert at.session_state[TICKED] == {"r1"}, "what was archived before stays as it was"
    assert '<p role="status">2 runs archived.</p>' in texts(at)
    at.run()
    press(at, "Undo")
    assert [note.is_archived for note in notes(store, ["r1", "r2", "r3"]).values()] == [True, False, False]
    assert "Undo" not in [button.label for button in at.button]


def test_notice_leaves_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = page(IDS)
    press(at, "Archive")
    monkeypatch.setattr("web.runs.undo_notice.VISIBLE_S", 0.0)
    at.run()
    assert not at.button


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
    notes_after = notes(store, IDS)
    assert all(note.is_archived for note in notes_after.values())
    assert [notes_after["r1"].version, notes_after["r2"].version] == [1, 1], "what is archived gets no new version"


def test_tags_are_added_and_removed(store: Store) -> None:
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"tags": ("old", "fp8")}))
    at = page(IDS)
    at.multiselect[0].set_value(["fp8"])
    press(at, "Add")
    assert [note.tags for note in notes(store, IDS).values()] == [("old", "fp8"), ("fp8",)]
    at.multiselect[0].set_value(["fp8"])
    press(at, "Remove")
    assert [note.tags for note in notes(store, IDS).values()] == [("old",), ()]
