"""The Compare page over a real store: arms, the address that holds what is asked, and what cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from settings import Settings
from storage.store import Store
from tests.comparison.ideal_engine import IdealEngine, repeats
from tests.comparison.test_store_to_answer import SMALL, stored

PAGE = str(Path(__file__).resolve().parents[2] / "pages" / "compare.py")


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Two arms of three starts in a store that the page asks, as the operator sees it."""
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    rng = np.random.default_rng(21)
    made = []
    for place, k in enumerate((0, 4)):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        runs = repeats(engine, "ladder", 3, rng, **SMALL)
        made += [stored(store, facts, k, place * 10 + n).id for n, facts in enumerate(runs)]
    for module in ("web.compare.sheet", "web.visible", "web.sharing.bundle_button", "web.sharing.share_dialog"):
        monkeypatch.setattr(f"{module}.services", lambda: _Services(store), raising=False)
    monkeypatch.setattr("web.context.services", lambda: _Services(store))
    monkeypatch.setattr("web.visible.current_role", lambda: "operator")
    monkeypatch.setattr("web.access.auth.current_role", lambda: "operator")
    yield made
    store.close()


class _Services:
    def __init__(self, store: Store) -> None:
        self.store = store


def page(**params: object) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=60)
    for name, value in params.items():
        at.query_params[name] = value
    return at.run()


def said(at: AppTest) -> str:
    return " ".join(str(one.proto.body) for one in at.get("html"))


def test_the_answer_stands_on_the_page(ids: list[str]) -> None:
    at = page(run=ids)
    assert not at.exception, at.exception
    assert "as fast as" in said(at) and "because tokens per step rose" in said(at)
    assert "May I say so?" in said(at) and "×3 (baseline)" in said(at)


def test_the_objective_of_the_address_is_what_is_compared_by(ids: list[str]) -> None:
    at = page(run=ids, objective="ttft_ms@2")
    assert not at.exception and "time to first token" in said(at)
    wrong = page(run=ids, objective="fastness")
    assert "There is no objective" in wrong.warning[0].value and not wrong.exception


def test_a_run_left_out_and_all_of_them(ids: list[str]) -> None:
    at = page(run=ids, out=[f"{ids[0]}:somebody compiled"])
    assert not at.exception and "×2 (baseline)" in said(at)
    nothing = page(run=ids, out=[f"{one}:no" for one in ids])
    assert not nothing.exception and "nothing is left to compare" in nothing.info[0].value


def test_repeats_of_one_configuration_are_told_as_that(ids: list[str]) -> None:
    at = page(run=ids[:3])
    assert not at.exception and "repeat one configuration" in at.info[0].value
