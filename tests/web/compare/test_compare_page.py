"""The Compare page over a real store: arms, the address that holds what is asked, and what cannot be answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from load_records import FIDELITY, Load
from reports.cache.run_cache import EvidenceCache, ReportCache
from samples import Batch, GpuSample
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.analysis.loads.test_fidelity import load as fidelity_load
from tests.web.conftest import ProvideServices
from web import markup

PAGE = str(Path(__file__).resolve().parents[3] / "pages" / "compare.py")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    """The one that the page asks, as the operator sees it."""
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    provide_services(_Services(store, tmp_path))
    monkeypatch.setattr("web.visibility.current_role", lambda: "operator")
    monkeypatch.setattr("web.access.roles.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *place, **words: None)  # the page stands here without its app
    yield store
    store.close()


def two_arms(store: Store, workload: str, **params: object) -> list[str]:
    """Three starts each, plain and with drafts."""
    rng = np.random.default_rng(21)
    made = []
    for place, k in enumerate((0, 4)):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        runs = repeats(engine, workload, 3, rng, **params)
        made += [stored(store, facts, k, place * 10 + n).id for n, facts in enumerate(runs)]
    return made


@pytest.fixture
def ids(store: Store) -> list[str]:
    return two_arms(store, "ladder", **SMALL)


class _Services:
    fleet = None

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.reports, self.evidence = store, ReportCache(), EvidenceCache()
        self.settings = Settings(data_dir=folder / "data")


def page(**params: object) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=60)
    for name, value in params.items():
        at.query_params[name] = value
    return at.run()


def html_text(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def captions(at: AppTest) -> str:
    return " ".join(str(caption.value).replace("\\", "") for caption in at.caption)


def test_strips_of_a_page_have_one_scale(store: Store) -> None:
    at = page(run=two_arms(store, "five-prompts"))
    bands = re.findall(r'class="pw-band" style="([^"]+)"', html_text(at))
    assert len(bands) > 6 and len(set(bands)) == 1, "the cards' and those of each kind of prompt"


def heads(at: AppTest) -> list[str]:
    """The arms of the head, as they are read."""
    labels = [str(button.label) for button in at.button if str(button.key).startswith("arm-")]
    return [label.replace("*", "").replace("\\", "") for label in labels]


def test_the_answer_stands_on_the_page(ids: list[str]) -> None:
    at = page(run=ids)
    assert not at.exception, at.exception
    assert "as fast as" in html_text(at) and "because tokens per step rose" in html_text(at)
    assert "Is this a fair comparison?" in html_text(at) and heads(at)[0] == "baseline k 0 ×3"
    assert "Reported by other tools" not in [section.label for section in at.expander]


def test_address_sets_the_objective(ids: list[str]) -> None:
    at = page(run=ids, objective="ttft_ms@2")
    assert not at.exception and "time to first token" in html_text(at)
    wrong = page(run=ids, objective="fastness")
    assert "There is no objective" in wrong.warning[0].value and not wrong.exception


def test_notes_stand_below_the_answer(ids: list[str]) -> None:
    elements = [str(element.proto) for element in page(run=ids, margin="5%").main]
    answer, note = (
        next(index for index, text in enumerate(elements) if part in text)
        for part in ("pw-sheet", "count as irrelevant")
    )
    assert answer < note


def test_address_sets_the_margin(ids: list[str]) -> None:
    at = page(run=ids, margin="400%")
    assert "cannot be '400%'" in at.warning[0].value and not at.exception
    at = page(run=ids, margin="50%", objective="ttft_ms@1")
    assert not at.exception and "Differences below 50 % count as irrelevant." in captions(at)
    assert "are the same in time to first token, one at a time within 50 %" in html_text(at)
    field = at.number_input[0]
    assert (field.label, field.value) == ("Smallest difference, %", 50.0)
    field.set_value(4.5).run()
    assert (at.query_params["margin"], at.query_params["objective"]) == ("0.045", "ttft_ms@1")
    assert "Differences below 4.5 % count as irrelevant." in captions(at) and at.number_input[0].value == 4.5


def test_ladder_rungs_stand_below_the_answer(ids: list[str]) -> None:
    text = html_text(page(run=ids))
    assert all(f'<th scope="row">{rung} at once</th>' in text for rung in (2, 4, 8))


def test_prompt_kinds_stand_below_the_answer(store: Store) -> None:
    text = html_text(page(run=two_arms(store, "five-prompts", token_scale=0.1, parallel=2)))
    assert all(
        f'<th scope="row">{markup.text(kind)}</th>' in text for kind in ("Q&A", "Code", "JSON", "Math", "LongCode")
    )


def test_a_click_in_the_head_moves_the_baseline(ids: list[str]) -> None:
    at = page(run=ids)
    assert heads(at) == ["baseline k 0 ×3", "k 4 ×3"]
    at.button(key=f"arm-{ids[3]}").click().run()
    assert heads(at) == ["baseline k 4 ×3", "k 0 ×3"] and not at.exception
    assert at.query_params["run"] == [*ids[3:], *ids[:3]]
    assert "k 0 is 0." in html_text(at)


def test_the_head_adds_a_run(ids: list[str]) -> None:
    at = page(run=[*ids[:2], *ids[3:]])
    assert heads(at) == ["baseline k 0 ×2", "k 4 ×3"]
    at.multiselect(key="compare-runs").set_value([*ids[:2], *ids[3:], ids[2]]).run()
    assert heads(at) == ["baseline k 0 ×3", "k 4 ×3"] and not at.exception


def test_a_workload_that_is_not_shared_is_told(ids: list[str]) -> None:
    at = page(run=ids, workload="five-prompts")
    assert "No two of these runs have the workload" in at.warning[0].value and not at.exception
    assert "as fast as" in html_text(at)


def test_a_run_left_out_and_all_of_them(ids: list[str]) -> None:
    at = page(run=ids, out=[f"{ids[0]}:somebody compiled"])
    assert not at.exception and heads(at)[0] == "baseline k 0 ×2"
    nothing = page(run=ids, out=[f"{one}:no" for one in ids])
    assert not nothing.exception and "there is nothing to compare" in nothing.info[0].value


def test_repeats_of_one_config_are_labelled(ids: list[str]) -> None:
    at = page(run=ids[:3])
    assert not at.exception and "all have the same configuration" in at.info[0].value


def test_personal_verdict_is_beside_the_numbers(ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rating of an arm's runs, and each sentence with its run; a guest of a link reads those of its runs."""
    from web.context import services

    store = services().store
    assert "A person's verdict" not in html_text(page(run=ids))
    for run_id, verdict in ((ids[3], {"coding": 4}), (ids[5], {"coding": 2}), (ids[0], {"impression": "<i>dull</i>"})):
        store.notes.change([run_id], "operator", lambda note, given=verdict: note.model_copy(update=given))
    assert rated(page(run=ids)) == "4, 2"
    shared = [store.run(run_id) for run_id in ids[:4]]
    monkeypatch.setattr("web.visibility.visible_runs", lambda newest, named=(): shared)
    monkeypatch.setattr("web.access.roles.current_role", lambda: "guest")
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    guest = page(run=ids)
    assert rated(guest) == "4"
    assert f'run={ids[0]}" target="_self">\u201c&lt;i&gt;dull&lt;/i&gt;\u201d</a>' in html_text(guest)
    assert "opinions, not measurements" in html_text(guest)


def rated(at: AppTest) -> str:
    """What is said of the coding of the second arm; nobody said anything of the first."""
    table = html_text(at).split("A person's verdict")[1].split("</table>")[0]
    assert "Language" not in table
    [row] = re.findall(r"Coding</th><td>(.*?)</td><td>(.*?) <small>of 5</small></td>", table)
    assert "no rating" in row[0]
    return str(row[1])


def test_answers_of_the_arms_are_compared_where_they_were_measured(store: Store, ids: list[str]) -> None:
    assert "Same answers?" not in [title.value for title in page(run=ids).subheader]
    for place, changed_share in {0: 0.0, 1: 0.0, 3: 0.05}.items():
        positions = fidelity_load(f"l{place}", changed_share, place).positions.values()
        records = [replace(position, run_id=ids[place]) for position in positions]
        store.write(Batch((Load(ids[place], f"l{place}", T0, "pitwall", FIDELITY), *records))).result()
    at = page(run=ids)
    assert not at.exception
    assert "Same answers?" in [title.value for title in at.subheader]
    assert "they differ more than two starts of the baseline do" in html_text(at) and "512 tokens" in html_text(at)


def test_charts_over_time_are_offered_if_there_is_something_to_draw(store: Store, ids: list[str]) -> None:
    """The results of other tools have no samples: names and switches of no chart would stand there."""
    title = "Over time since ready"
    assert title not in [one.value for one in page(run=ids).subheader]
    begin = store.runs_of(ids[:1])[0].ready_at
    assert begin
    at = [begin + timedelta(seconds=n) for n in range(3)]
    store.write(Batch(tuple(GpuSample(ids[0], ts, 0.0, "m", 0, power_w=300.0) for ts in at))).result()
    assert title in [one.value for one in page(run=ids).subheader]


def test_differences_are_listed_once_and_their_reasons_folded(store: Store, ids: list[str]) -> None:
    (fold,) = [one for one in page(run=ids).expander if one.label == "Why these are separate arms"]
    assert "is not a repeat of" in " ".join(str(one.value) for one in fold.caption) and not fold.proto.expanded
