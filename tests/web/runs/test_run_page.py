"""The Run page itself, with a run whose model lies on this machine, and with one that failed before it was ready."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Run, RunState
from samples import Batch, HostSample
from settings import Settings
from storage.store import Store
from tests.analysis.physics.models import GEMMA_4_31B
from tests.web.conftest import ProvideServices
from tests.web.runs.test_physics_panel import NOW, make_run
from web.runs.page.run_actions import actions_of_menu

PAGE = """
from reports.arms.facts import facts_of
from reports.runs.run_report import report_on
from web.context import services
from web.runs.page import run_page
from web.runs.page.physics_panel import physics_panel

(run,) = services().store.runs()
(report,) = report_on(services().store, [run])
run_page.cause(run)
physics_panel(report, *facts_of(services().store, [run]))
"""

OVER_TIME = """
from reports.runs.run_report import report_on
from web.context import services
from web.runs.page.over_time import over_time

store = services().store
over_time(store, *report_on(store, store.runs()))
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    provide_services(SimpleNamespace(store=opened, settings=settings, fleet=None))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # this stands here without the app's other pages
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(GEMMA_4_31B))
    yield opened
    opened.close()


def failed_run(store: Store, tmp_path: Path, cause: str) -> Run:
    run = make_run(store, tmp_path / "model")
    failed = {"state": RunState.FAILED, "ready_at": None, "ended_at": run.created_at + timedelta(seconds=9)}
    store.save_run(run := run.model_copy(update=failed | {"cause": cause}))
    return run


def test_the_section_stands_on_the_page(store: Store, tmp_path: Path) -> None:
    make_run(store, tmp_path / "model")
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception and [subheader.value for subheader in at.subheader] == ["Physics"]
    assert "11.57" in " ".join(str(element.proto.body) for element in at.get("html"))
    assert "prices.toml" in at.caption[0].value


def test_a_failed_run_says_what_others_did(store: Store, tmp_path: Path) -> None:
    failed_run(store, tmp_path, "Can't pickle <function launcher at 0x7f>")
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception and not at.subheader, "it never ran, so nothing is held against physics"
    text = " ".join(info.value for info in at.info).replace("\\\\", "").replace("\\", "")
    assert "VLLM_DISABLE_COMPILE_CACHE=1" in text and "line 19" in text


def test_run_without_samples_says_no_charts(store: Store, tmp_path: Path) -> None:
    failed_run(store, tmp_path, "no memory")
    at = AppTest.from_string(OVER_TIME, default_timeout=60).run()
    assert not at.exception and not at.get("bidi_component")
    assert [element.value for element in (*at.subheader, *at.caption)] == [
        "Over time",
        "Not known: no samples of the server, its host or its GPUs were stored.",
    ]


def test_loading_use_of_a_server_is_drawn(store: Store, tmp_path: Path) -> None:
    run = failed_run(store, tmp_path, "no memory")
    store.write(Batch((HostSample(run.id, NOW, 0.0, run.machine_id, rss_bytes=2**30),))).result()
    at = AppTest.from_string(OVER_TIME, default_timeout=60).run()
    assert not at.exception and [subheader.value for subheader in at.subheader] == ["Over time since ready"]
    assert len(at.get("bidi_component")) == 1


ACTIONS = """
from web.context import services
from web.runs.page.run_actions import run_actions

run_actions(services().store.run("r1"))
"""


def test_menu_has_the_rarer_actions_and_delete_last(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(store, tmp_path / "model").model_copy(update={"state": RunState.FINISHED})
    harmless = ["Relaunch with one change", "Live view", "Replay", "Download as a bundle", "Show the SQL"]
    assert list(actions_of_menu(run)) == [*harmless, "Save as a known issue", "Delete"]
    failed = run.model_copy(update={"state": RunState.FAILED, "cause": "no memory"})
    assert list(actions_of_menu(failed))[:2] == ["Live view", "Download as a bundle"], "below the cause is the way on"
    visited = list[tuple[str, object]]()
    monkeypatch.setattr("streamlit.switch_page", lambda page, query_params: visited.append((page, query_params)))
    actions_of_menu(run)["Replay"]()
    assert visited == [("../pages/replay.py", {"run": "r1"})]
    for role, labels in (("guest", ["Live view", "Replay"]), ("viewer", ["Live view", "Replay", "Show the SQL"])):
        monkeypatch.setattr("web.actions.current_role", lambda role=role: role)
        assert list(actions_of_menu(run)) == labels


def test_run_is_compared_with_a_chosen_one(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[object]()

    def page_link(_: str, *, label: str, query_params: dict[str, object], disabled: bool = False, **__: object) -> None:
        if label == "Compare":
            compared.append(None if disabled else query_params["run"])

    monkeypatch.setattr("streamlit.page_link", page_link)
    run = make_run(store, tmp_path / "model")
    ended = {"state": RunState.FINISHED, "ended_at": NOW}
    for run_id, hours in (("r0", -1), ("r1", 0), ("r2", 1)):
        started_at = NOW + timedelta(hours=hours)
        store.save_run(run.model_copy(update=ended | {"id": run_id, "name": run_id, "started_at": started_at}))
    at = AppTest.from_string(ACTIONS, default_timeout=60).run()
    for text in ("r2", "r0"):
        box = next(box for box in at.selectbox if box.label == "Run")
        box.set_value(next(option for option in box.options if option.startswith(text))).run()
    assert not at.exception and compared == [None, ["r1", "r2"], ["r0", "r1"]]
