"""Notes of people on the Run page: the operator writes it, a guest only reads it."""

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
RUN = Run(
    id="r1", name="fp8", color=0, machine_id="m", created_at=NOW, ended_at=NOW, state=RunState.FINISHED, config=Config()
)
PANEL = """
from web.context import services
from web.run_notes.people_panel import people_panel

people_panel(services().store.run("r1"))
"""
FORM = """
from storage.queries.note_queries import notes
from web.context import services
from web.run_notes.people_panel import edit_form

edit_form(services().store.run("r1"), notes(services().store, ["r1"])["r1"])
"""


class Renames:
    """A stand-in for the supervisor: notes what it was asked to rename."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def rename(self, run_id: str, name: str) -> None:
        self.asked.append((run_id, name))


@pytest.fixture
def renames() -> Renames:
    return Renames()


@pytest.fixture
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices, renames: Renames
) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    opened.save_run(RUN)
    provided = SimpleNamespace(store=opened, settings=settings, supervisor=renames)
    provide_services(provided)
    be(monkeypatch, "operator")
    yield opened
    opened.close()


def be(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: role)


def html_text(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def test_a_guest_reads_and_has_no_button(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"text": "**fast** <script>x</script>", "tags": ("fp8",), "coding": 4, "impression": "Good at code"}
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update=fields))
    be(monkeypatch, "guest")
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception and not at.button
    for words in ("<strong>fast</strong>", "&lt;script&gt;", "#fp8", "Coding <b>4</b>/5", "Good at code"):
        assert words in html_text(at)


def test_guest_sending_the_form_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, "guest")
    at = AppTest.from_string(FORM, default_timeout=60).run()
    at.text_area[0].set_value("mine")
    at.button[0].click().run()
    assert at.exception, "Streamlit hides which"
    assert notes(store, ["r1"])["r1"].version == 0


def test_form_is_one_version_and_is_audited(store: Store, renames: Renames) -> None:
    at = AppTest.from_string(FORM, default_timeout=60).run()
    at.text_input[0].set_value("fp8, warm")
    at.text_area[0].set_value("a note")
    at.text_input[1].set_value("quick")
    at.button[0].click().run()
    assert not at.exception
    note = notes(store, ["r1"])["r1"]
    assert (note.version, note.text, note.name, note.impression) == (1, "a note", "fp8, warm", "quick")
    assert renames.asked == [("r1", "fp8, warm")]
    store.record([]).result()  # after those that were queued before
    assert {entry.action for entry in store.audit(9)} == {"rename", "rate", "note"}


def test_a_star_is_one_press_and_one_back(store: Store) -> None:
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    at.button[0].click().run()
    assert notes(store, ["r1"])["r1"].is_starred and "Starred" in at.button[0].label
    at.button[0].click().run()
    assert not notes(store, ["r1"])["r1"].is_starred


def test_an_empty_name_keeps_the_old_one(store: Store, renames: Renames) -> None:
    at = AppTest.from_string(FORM, default_timeout=60).run()
    at.text_input[0].set_value(" ")
    at.text_area[0].set_value("x")
    at.button[0].click().run()
    assert notes(store, ["r1"])["r1"].name is None and renames.asked == []
