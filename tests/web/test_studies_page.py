"""The page Studies by AppTest: what is predicted, when it will end, and an arm more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from commands.study_file import StudyPlan, study_of_text
from domain import Run, RunState, Study, WorkloadSpec, utc_now
from launcher.remote.hosts import Host, HostBook
from settings import Settings
from storage.store import Store
from studies.runner import StudyRunner
from tests.analysis.study.test_proposal import COMMAND, FILE
from tests.studies.recipe.recipes import RECIPE
from tests.studies.test_study_file import ONE_ARM, WHICH
from tests.web.conftest import ProvideServices
from web.context import services
from web.study_pages.race_words import objective_with_unit
from workloads import spec_for

CARD = """
from web.context import services
from web.study_pages.race_table import show_study_card
show_study_card(services().store.studies()[0], True)
"""
WHY = "Predicted, not measured: decode_tps is at least 20 by the run of max_num_seqs 4."


def arm(name: str, state: str, ratio: float | None, predicted: dict[str, Any] | None = None) -> dict[str, Any]:
    between = None if ratio is None else [ratio * 0.98, ratio * 1.02]
    return {
        "name": name, "runs": 2 if ratio else 0, "state": state, "ratio": ratio, "interval": between,
        "values": [], "cause": None, "predicted": predicted,
    }  # fmt: skip


ANSWER = {
    "answer": None, "winner": None, "leader": "max_num_seqs 4", "objective": "decode_tps", "runs": 4,
    "starts_left": [2, 6], "reasons": [],
    "arms": [
        arm("max_num_seqs 1", "racing", 1.0), arm("max_num_seqs 4", "racing", 1.8),
        arm("max_num_seqs 2", "predicted", None, {"ratio": [1.2, 1.4], "requests": None, "why": WHY}),
    ],
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    nobody = SimpleNamespace(live_runs=list, queued_runs=list)  # no run of these studies is started
    runner = StudyRunner(opened, nobody, tmp_path, spec_for)  # type: ignore[arg-type]
    provide_services(SimpleNamespace(store=opened, settings=settings, studies=runner))
    monkeypatch.setattr("streamlit.page_link", lambda *place, **words: None)  # one card stands here without its app
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    yield opened
    opened.close()


def keep(store: Store, ended: int) -> None:
    """A study of a value, with so many starts that took a minute each."""
    plan = study_of_text(f'{ONE_ARM}[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 4, 2]\n', "seqs")
    now = utc_now()
    study = Study(
        id="s1", title="How many?", question="value", created_at=now, updated_at=now,
        plan=plan.model_dump(mode="json"), answer=ANSWER if ended else None,
    )  # fmt: skip
    store.save_study(study)
    for number in range(ended):
        run = Run(
            id=f"r{number}", name=f"r{number}", color=0, machine_id="m", created_at=now, batch_id="s1",
            config=plan.arms[0].config, state=RunState.FINISHED, started_at=now, ended_at=now + timedelta(minutes=1),
        )  # fmt: skip
        store.save_run(run)


def page() -> AppTest:
    at = AppTest.from_string(CARD, default_timeout=60).run()
    assert not at.exception
    return at


def page_text(at: AppTest) -> str:
    html = [str(element.proto.body) for element in at.get("html")]
    return " ".join([*html, *(caption.value for caption in at.caption), *(markdown.value for markdown in at.markdown)])


def test_predicted_arm_is_never_called_measured(store: Store) -> None:
    keep(store, 4)
    words = page_text(page())
    assert "predicted 1.20x to 1.40x" in words and "not measured" in words and WHY in words


def test_folded_study_is_not_queried(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(store, 4)
    texts: list[str] = []
    monkeypatch.setattr("web.study_pages.race_table._show_card", lambda study: texts.append(study.id))
    AppTest.from_string(CARD.replace("True", "False"), default_timeout=60).run()
    assert texts == []
    AppTest.from_string(CARD, default_timeout=60).run()
    assert texts == ["s1"]


def test_end_time_is_a_range_or_unknown(store: Store) -> None:
    keep(store, 0)
    assert "The end is not known yet: no start has finished." in page_text(page())
    keep(store, 5)  # one more than the answer knows of
    assert "It will probably end in 60 s to 5 min: 1 to 5 starts of 60 s each" in page_text(page()).replace("\\", "")


def test_end_is_estimated_from_earlier_runs_at_first(store: Store) -> None:
    keep(store, 0)
    (study,), now = store.studies(), utc_now()
    plan = StudyPlan.model_validate(study.plan)
    store.save_study(study.model_copy(update={"answer": ANSWER | {"runs": 0}}))
    earlier = Run(
        id="r0", name="r0", color=0, machine_id="m", created_at=now, config=plan.arms[0].config,
        state=RunState.FINISHED,
        workload=WorkloadSpec(name="ladder"), started_at=now,
        ended_at=now + timedelta(minutes=1),
    )  # fmt: skip
    store.save_run(earlier)
    words = page_text(page()).replace("\\", "")
    assert "It will probably end in 2 min to 6 min: 2 to 6 starts of 60 s each by earlier runs" in words


def test_a_value_is_added_while_it_goes_on(store: Store) -> None:
    keep(store, 4)
    at = page()
    at.text_input[0].set_value("2").run()
    assert "already" in at.error[0].value
    at.text_input[0].set_value("8").run()
    assert not at.error
    next(button for button in at.button if button.label == "Add").click().run()
    assert not at.exception
    plan = StudyPlan.model_validate(store.studies()[0].plan)
    assert [arm.name for arm in plan.arms][-1] == "max_num_seqs 8"


def test_workloads_that_disagree_are_said_to(store: Store) -> None:
    now, fields = utc_now(), {**ANSWER, "answer": "winner", "starts_left": None}
    parts = [fields | {"workload": "ladder", "winner": "a"}, fields | {"workload": "knee", "winner": "b"}]
    plan = study_of_text(
        f'{ONE_ARM}[[workload]]\nname = "knee"\n[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 4]\n', "p"
    )
    study = Study(
        id="s1", title="Which?", question="value", state="ended", created_at=now, updated_at=now,
        plan=plan.model_dump(mode="json"), answer={**ANSWER, "answer": "unknown", "workloads": parts},
    )  # fmt: skip
    store.save_study(study)
    words = page_text(page()).replace("\\", "")
    assert "It depends: a is best under ladder, b is best under knee." in words
    assert "Under ladder: a is best." in words and words.count("predicted 1.20x to 1.40x") == 2


FORM = "from web.study_pages.start_form import show_new_study\nshow_new_study(True)\n"


def form(text: str) -> AppTest:
    at = AppTest.from_string(FORM, default_timeout=60).run()
    at.text_area(key="study-text").set_value(text).run()
    assert not at.exception
    return at


def test_recipe_begins_once_fully_disclosed(store: Store) -> None:
    at = form(RECIPE)
    assert "bfcl (line 27): the Python with bfcl-eval is unknown" in at.error[0].value.replace("\\", "")
    assert all(button.key != "begin-study" for button in at.button)
    at.text_input(key="recipe-without").set_value("bfcl").run()
    assert not at.error
    words = page_text(at).replace("\\", "")
    assert "1 arms" not in words and "lm-eval (gsm8k)" in words and "each serving all workloads" in words
    assert "gpu (line 3): " in words and "bfcl (line 27): it is left out, as asked for." in words
    at.button(key="begin-study").click().run()
    (study,) = store.studies()
    assert (study.question, study.title) == ("measure", "tiny-h200")


def test_study_of_three_settings_counts_starts(store: Store) -> None:
    at = form(FILE.replace("COMMAND", COMMAND))
    assert "8 of 27 combinations under" in page_text(at) and "At most 18 starts" in page_text(at)


def test_study_on_host_begins_once_host_is_known(store: Store) -> None:
    text = WHICH.replace('name = "b"', 'name = "b"\nhost = "gpu-box"')
    at = form(text)
    assert any("There is no host gpu-box" in error.value.replace("\\", "") for error in at.error)
    HostBook(services().settings.hosts_path).add(Host(label="gpu-box", target="me@gpu-box"))
    at = form(text)
    assert not at.error and "b on gpu-box" in page_text(at).replace("\\", "")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "the workload's own objective"),
        ({"objective": "ttft_ms@2"}, "time to first token, 2 at once (ms)"),
        ({"objective": "users_held"}, "the number of users held"),
        ({"objective": "newer@2"}, "newer@2"),
        (
            {"workloads": [{"workload": "a", "objective": "decode_tps"}, {"workload": "b", "objective": None}]},
            "stream speed (tok/s) under a, the workload's own objective under b",
        ),
    ],
)
def test_what_it_compares_by_is_told_in_words(answer: dict[str, object], words: str) -> None:
    assert objective_with_unit(answer) == words
