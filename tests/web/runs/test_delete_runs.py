"""Deleting on the pages: said before it is done, brought back by a button, and for the operator alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices
from web.runs.delete_runs import delete, set_rule
from web.runs.table.ticked_runs import TICKED

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    for run_id, state in (("r1", RunState.FINISHED), ("r2", RunState.RUNNING)):
        opened.save_run(
            Run(
                id=run_id, name=f"*{run_id}*", color=0, machine_id="m", created_at=NOW, ended_at=NOW, config=Config(),
                state=state,
            )
        )  # fmt: skip
    provide_services(SimpleNamespace(store=opened, settings=settings))
    be(monkeypatch, "operator")
    yield opened
    opened.close()


def be(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: role)


def page(script: str) -> AppTest:
    at = AppTest.from_string(script, default_timeout=60).run()
    assert not at.exception
    return at


BUTTON = """
from web.context import services
from web.runs.delete_runs import delete_button
delete_button(services().store.runs_of(["r1", "r2"]), "x")
"""
QUESTION = """
import streamlit as st
from web.context import services
from web.runs.delete_runs import _confirm
if services().store.runs_of(["r1"]):
    _confirm([("r1", "r1")], {is_their_page})
else:
    st.text("drawn anew")
"""
QUESTION_AND_NOTICE = (
    QUESTION.format(is_their_page=False) + "\nfrom web.runs.undo_notice import undo_notice\nundo_notice()"
)
WAITING = """
from web.runs.delete_runs import deleted_section
from web.sections import show_sections
show_sections("runs", [deleted_section()])
"""


def test_the_question_says_what_stays_and_why(store: Store) -> None:
    at = page(BUTTON)
    at.button[0].click().run()
    assert [warning.value for warning in at.warning] == [r"\*r2\* stays\: it has not ended\."]
    assert [button.label for button in at.button] == ["Delete", "Delete 1 run"]
    assert len(store.runs()) == 2, "nothing is deleted before the second press"


@pytest.mark.parametrize(("is_their_page", "pages"), [(False, []), (True, ["../pages/runs.py"])])
def test_deletion_keeps_list_and_leaves_run_page(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_their_page: bool, pages: list[str]
) -> None:
    shown = list[str]()
    monkeypatch.setattr("streamlit.switch_page", shown.append)  # this stands here without the app's other pages
    at = AppTest.from_string(QUESTION.format(is_their_page=is_their_page), default_timeout=60)
    at.query_params["find"] = "r"
    at.run()
    at.button[0].click().run()
    assert not at.exception
    assert [run.id for run in store.runs()] == ["r2"] and shown == pages
    assert at.query_params["find"] in ("r", ["r"]) and [text.value for text in at.text] == ["drawn anew"]


def test_deleted_run_is_listed_and_restored(store: Store) -> None:
    assert page(WAITING).button_group == []
    delete(["r1"])
    at = page(WAITING)
    assert at.button_group[0].options == ["Deleted runs: 1"] and at.button == []
    at.button_group[0].set_value(["deleted"]).run()
    assert "gone for good after" in at.markdown[0].value
    at.button[1].click().run()
    assert not at.exception and {run.id for run in store.runs()} == {"r1", "r2"} and at.button == []


def test_deletion_takes_ticks_and_is_taken_back(store: Store) -> None:
    at = AppTest.from_string(QUESTION_AND_NOTICE, default_timeout=60)
    at.session_state[TICKED] = frozenset({"r1", "r2"})
    at.run().button[0].click().run()
    assert not at.exception and [run.id for run in store.runs()] == ["r2"]
    assert at.session_state[TICKED] == {"r2"} and "1 run deleted." in str(at.get("html")[0].proto.body)
    next(button for button in at.button if button.label == "Undo").click().run()
    assert not at.exception and {run.id for run in store.runs()} == {"r1", "r2"}
    assert "Undo" not in [button.label for button in at.button]


def test_a_guest_has_no_button_and_no_right(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    delete(["r1"])
    be(monkeypatch, "guest")
    assert page(BUTTON).button == [] and page(WAITING).button == []
    for action in (lambda: delete(["r2"]), lambda: set_rule(1)):
        with pytest.raises(PermissionError):
            action()
    assert store.bin.keep_days() is None


def test_the_rule_is_set_and_taken_away(store: Store) -> None:
    at = page("from web.runs.delete_runs import _rule\n_rule()")
    assert any("is off" in caption.value for caption in at.caption)
    at.toggle[0].set_value(True).run()
    at.button[0].click().run()
    assert store.bin.keep_days() == 90 and any("90 days" in caption.value for caption in at.caption)
    at.toggle[0].set_value(False).run()
    at.button[0].click().run()
    assert store.bin.keep_days() is None
