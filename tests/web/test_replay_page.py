"""The Replay page without a browser: what it says where there is nothing, or not all, to be played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from domain import Run
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.many_runs import many_runs
from tests.web.app_page import page_at
from tests.web.conftest import ProvideServices

PAGE = str(Path(__file__).resolve().parents[2] / "pages" / "replay.py")


@pytest.fixture(scope="module")
def replay_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Run]]]:
    """Two runs of one load, and one whose load has no requests."""
    store, rng = Store.open(Settings(data_dir=tmp_path_factory.mktemp("replay") / "data")), np.random.default_rng(6)
    played = [stored(store, IdealEngine(0.02).run("ladder", rng, dict(SMALL)), 0, minutes) for minutes in (0, 10)]
    yield store, [*played, many_runs(store)[0]]
    store.close()


@pytest.fixture(autouse=True)
def runs(
    replay_store: tuple[Store, list[Run]], monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> list[Run]:
    provide_services(SimpleNamespace(store=replay_store[0], fleet=None))
    for room in ("web.actions", "web.visibility"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    monkeypatch.setattr("web.sharing.share_dialog.show_share_button", lambda *_: None)
    monkeypatch.setattr("web.replay.component._component", lambda **_: None)
    return replay_store[1]


def page(**params: str | list[str]) -> AppTest:
    return page_at(PAGE, **params)


def page_text(at: AppTest) -> str:
    return " ".join(str(element.value) for element in (*at.caption, *at.info, *at.warning)).replace("\\", "")


def test_first_run_without_requests_is_named(runs: list[Run]) -> None:
    words = page_text(page(run=[runs[2].id, runs[0].id]))
    assert f"No request of {runs[2].name} succeeded under" in words and "in common" not in words


def test_answers_that_are_not_played_are_counted(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [run.id for run in runs[:2]]
    assert "are played" not in page_text(page(run=ids))
    monkeypatch.setattr("reports.runs.replay.MOST_ANSWERS", 2)
    assert page_text(page(run=ids)).count("1 of ") == 2


@pytest.mark.parametrize("name", ["phase", "request", "speed", "run"])
@pytest.mark.parametrize("word", ["NaN", "-1", "x" * 10_000, "<b>bold</b>", "\x00"])
def test_an_address_of_nonsense_is_passed_over(runs: list[Run], name: str, word: str) -> None:
    params: dict[str, str | list[str]] = {"run": [runs[0].id, runs[1].id]}
    page(**params | {name: word})


def test_empty_page_shows_only_its_purpose(tmp_path: Path, provide_services: ProvideServices) -> None:
    with closing(Store.open(Settings(data_dir=tmp_path / "data"))) as empty:
        provide_services(SimpleNamespace(store=empty, fleet=None))
        at = page()
    assert "token by token" in page_text(at) and "Start the demo" in page_text(at)
    assert not at.markdown, "what an expression of the script gave was printed"
