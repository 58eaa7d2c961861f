"""Destination of Live's row once nothing more is to be measured: the comparison, or the only result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState
from launcher.runs.queue import QueueWait
from reports.cache.run_cache import ReportCache
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.web.conftest import ProvideServices
from tests.web.runs.test_physics_panel import NOW
from web import page_paths
from workloads.job import LoadProgress, write_progress
from workloads.process.prepare import PROGRESS_FILE

PAGE = """
import streamlit as st
from web.live.early_charts import read_reports
from web.live.head import show_live_head
from web.visibility import visible_runs

picked, must_read = show_live_head(visible_runs(9), [])
if must_read:
    st.text("charts")
    read_reports(picked.runs)
"""


class Link(NamedTuple):
    """A page link as it was drawn."""

    words: str
    page: str
    runs: list[str]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    st.cache_data.clear()
    provided = SimpleNamespace(store=opened, settings=settings, fleet=None, reports=ReportCache())
    provide_services(provided)
    for room in ("web.actions", "web.visibility"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("web.live.head.show_share_button", lambda *_: None)
    yield opened
    opened.close()


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    """The links in order, each once although the script runs twice."""
    links: list[Link] = []

    def draw(page: str, label: str, query_params: dict[str, list[str]]) -> None:
        link = Link(label, page, query_params["run"])
        if link not in links:
            links.append(link)

    monkeypatch.setattr("streamlit.page_link", draw)
    return links


def a_run(store: Store, name: str, state: RunState, run_dir: Path | None = None) -> str:
    store.save_run(
        Run(
            id=name,
            name=name,
            color=0,
            config=Config(engine="vllm"),
            machine_id="m",
            created_at=NOW,
            state=state,
            batch_id="together",
            run_dir=str(run_dir) if run_dir else None,
        )
    )
    return name


def live(*run_ids: str) -> AppTest:
    at = AppTest.from_string(PAGE, default_timeout=60)
    at.query_params["run"] = list(run_ids)
    at.run()
    assert not at.exception, at.exception
    return at


def stands_out(at: AppTest) -> bool:
    return any(block.proto.id.endswith("live-done") for block in at.get("flex_container"))


def test_at_the_end_two_runs_are_to_be_compared(store: Store, links: list[Link]) -> None:
    ids = [a_run(store, name, RunState.FINISHED) for name in ("a", "b")]
    at = live(*ids)
    assert links[-1] == Link("Done: b is not ranked against a", page_paths.COMPARE, ids)
    assert stands_out(at)


@pytest.mark.parametrize(
    ("ahead", "is_on_hold", "texts"),
    [
        (("a",), False, []),  # a is on the page, and the strip counts what waits
        (("a", "elsewhere"), False, ["b: waits for a and elsewhere"]),
        (("a",), True, ["b: the queue is on hold"]),
        ((), False, ["b: starts next"]),
    ],
)
def test_wait_for_a_run_on_the_page_is_not_repeated(
    store: Store,
    links: list[Link],
    provide_services: ProvideServices,
    tmp_path: Path,
    ahead: tuple[str, ...],
    is_on_hold: bool,
    texts: list[str],
) -> None:
    supervisor = SimpleNamespace(queue_waits=lambda: {"b": QueueWait(ahead)}, is_queue_on_hold=is_on_hold)
    provided = {"store": store, "settings": Settings(data_dir=tmp_path / "data"), "reports": ReportCache()}
    provide_services(SimpleNamespace(**provided, fleet=None, supervisor=supervisor))
    at = live(a_run(store, "a", RunState.FINISHED), a_run(store, "b", RunState.QUEUED))
    captions = [caption.value.replace("\\", "").partition(", queued")[0] for caption in at.caption]
    assert [words for words in captions if words.startswith("b:")] == texts


def test_charts_precede_the_answer(store: Store, links: list[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    """Until reports are read, the link says no answer; those that do not fit into memory are not awaited again."""
    monkeypatch.setattr("reports.cache.run_cache.RunCache.holds", lambda *_: False)
    at = live(*(a_run(store, name, RunState.FINISHED) for name in ("a", "b")))
    assert [link.words for link in links] == ["Done: compare them", "Done: b is not ranked against a"]
    assert not at.text, "the second run of the script is the whole page"
    at.run()
    assert links[-1].words == "Done: b is not ranked against a"


def test_reports_that_another_viewer_reads_meanwhile(
    store: Store, links: list[Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head and the charts of one run of the script agree, so that the answer follows."""
    is_held = iter([False])
    monkeypatch.setattr("reports.cache.run_cache.RunCache.holds", lambda *_: next(is_held, True))
    live(*(a_run(store, name, RunState.FINISHED) for name in ("a", "b")))
    assert [link.words for link in links] == ["Done: compare them", "Done: b is not ranked against a"]


def test_at_the_end_the_link_says_the_answer(store: Store, links: list[Link]) -> None:
    engines = {k: IdealEngine(0.02, drafts=k, start_sd=0.005) for k in (2, 0)}
    repeats_by_k = {k: repeats(engine, "ladder", 2, np.random.default_rng(k), **SMALL) for k, engine in engines.items()}
    ids = [stored(store, facts, k, k + n).id for k, value in repeats_by_k.items() for n, facts in enumerate(value)]
    live(*ids)
    assert re.fullmatch(r"Done: k 2 1\\\.\d\d× k 0", links[-1].words), links
    assert links[-1].runs == [*ids[2:], *ids[:2]]


def test_link_of_continuing_server_says_no_answer(store: Store, links: list[Link], tmp_path: Path) -> None:
    (tmp_path / "workload").mkdir()
    load_progress = LoadProgress(run_id="a", workload="w", state="done", total=1, updated_at="x")
    write_progress(tmp_path / "workload" / PROGRESS_FILE, load_progress)
    live(a_run(store, "a", RunState.READY, tmp_path), a_run(store, "b", RunState.FINISHED))
    assert [link.words for link in links] == ["Done: compare them"]


def test_link_is_quiet_until_then(store: Store, links: list[Link]) -> None:
    ids = [a_run(store, "a", RunState.FINISHED), a_run(store, "b", RunState.STARTING)]
    at = live(*ids)
    assert links == [Link("Compare", page_paths.COMPARE, ids)]
    assert not stands_out(at)


def test_at_the_end_one_run_has_its_result(store: Store, links: list[Link]) -> None:
    at = live(a_run(store, "a", RunState.FINISHED))
    assert links == [Link("Done: see the result", page_paths.RUN, ["a"])]
    assert stands_out(at)


def test_the_only_one_that_did_not_fail_is_named(store: Store, links: list[Link]) -> None:
    live(a_run(store, "a_b", RunState.FINISHED), a_run(store, "c", RunState.FAILED))
    assert links == [Link(r"Done: see the result of a\_b", page_paths.RUN, ["a_b"])]


@pytest.mark.parametrize(("state", "is_done"), [("running", False), ("done", True)])
def test_load_end_shows_while_server_stays(
    store: Store, links: list[Link], tmp_path: Path, state: str, is_done: bool
) -> None:
    load = tmp_path / "run" / "workload"
    load.mkdir(parents=True)
    write_progress(load / PROGRESS_FILE, LoadProgress(run_id="a", workload="w", state=state, total=1, updated_at="x"))
    live(a_run(store, "a", RunState.READY, tmp_path / "run"))
    assert [link.words for link in links] == ["Done: see the result"] * is_done


def test_a_run_that_failed_has_no_result(store: Store, links: list[Link]) -> None:
    live(a_run(store, "a", RunState.FAILED))
    assert links == []
