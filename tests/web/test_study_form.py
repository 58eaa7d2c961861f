"""The form of a study by AppTest: it and the study file (TOML) are two views of one plan."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from analysis.physics.money import StatedPrices
from commands.explain import explain
from commands.study_file import PriceText, StudyFileError, StudyPlan, study_of_text
from domain import Run, RunState, WorkloadSpec, utc_now
from load_records import AGENT_TASK
from settings import Settings
from storage.store import Store
from studies.runner import StudyRunner
from tests.studies.test_study_file import ONE_ARM, WHICH
from tests.web.conftest import ProvideServices
from web import page_paths
from web.launch.draft import LaunchDraft
from web.study_pages.study_draft import StudyDraft
from workloads import spec_for

FORM = "from web.study_pages.start_form import show_new_study\nshow_new_study(True)\n"
COMMANDS = {"plain": "vllm serve o/m --port 8000", "seqs": "vllm serve o/m --port 8000 --max-num-seqs 4"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    nobody = SimpleNamespace(live_runs=list, queued_runs=list)  # no run of these studies is started
    runner = StudyRunner(opened, nobody, tmp_path, spec_for)  # type: ignore[arg-type]
    provide_services(SimpleNamespace(store=opened, settings=settings, studies=runner))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    now = utc_now()
    for number, (name, command) in enumerate(COMMANDS.items()):
        config = explain(command).config
        assert config
        run = Run(
            id=f"r{number}", name=f"{name} #1", color=number, machine_id="m", created_at=now, config=config,
            workload=WorkloadSpec(name="five-prompts", params={"token_scale": 0.25}), state=RunState.FINISHED,
            started_at=now, ended_at=now + timedelta(minutes=number + 1),
        )  # fmt: skip
        opened.save_run(run)
    yield opened
    opened.close()


def form(**address: list[str]) -> AppTest:
    at = AppTest.from_string(FORM, default_timeout=60)
    for name, values in address.items():
        at.query_params[name] = values
    at.run()
    assert not at.exception
    return at


def write(at: AppTest, text: str) -> None:
    at.text_area(key="study-text").set_value(text).run()
    assert not at.exception


def text_of(at: AppTest) -> str:
    return str(at.text_area(key="study-text").value)


def tick(at: AppTest, *names: str) -> None:
    picker = at.multiselect[0]
    labels = [next(label for label in picker.options if label.startswith(name)) for name in names]
    picker.set_value(labels).run()
    assert not at.exception


def begin(at: AppTest, store: Store) -> StudyPlan:
    at.button(key="begin-study").click().run()
    assert not at.exception
    return StudyPlan.model_validate(store.studies()[0].plan)


def captions(at: AppTest) -> str:
    return " ".join(caption.value for caption in at.caption).replace("\\", "")


def field(at: AppTest, label: str) -> str:
    return str(next(box for box in [*at.text_input, *at.number_input, *at.text_area] if box.label == label).value)


def test_ticked_runs_begin_the_study_that_their_toml_begins(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    at.number_input(key="study-difference-1").set_value(5.0).run()
    at.number_input(key="study-starts-1").set_value(12).run()
    at.number_input(key="study-minutes-1").set_value(90.0).run()
    text = text_of(at)
    expected = study_of_text(text, "study")
    assert (expected.margin, expected.budget.runs, expected.budget.hours) == (0.05, 12, 1.5)
    assert (expected.workload, expected.params) == ("five-prompts", {"token_scale": 0.25}), "the load of the first run"
    plan = begin(at, store)
    assert plan == expected.model_copy(update={"title": "plain or seqs"})
    assert [arm.config.fingerprint for arm in plan.arms] == [store.run(f"r{n}").config.fingerprint for n in (0, 1)]  # type: ignore[union-attr]


def test_replaced_widgets_change_no_arm(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    at.text_input(key="arm-name-1-1").set_value("other")
    states = at._tree.get_widget_states().widgets
    replaced = WidgetStates(widgets=[state for state in states if "-1-1" in state.id])
    assert len(replaced.widgets) == 4, "the arm and the choice of arms"
    at.text_input(key="arm-name-1-1").set_value("seqs")
    at.button(key="arm-remove-1-1").click().run()
    text = text_of(at)
    at._run(replaced)  # as a slow browser sends it
    assert not at.exception and text_of(at) == text


def test_operators_agent_task_is_a_load_of_the_form(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    choice = next(box for box in at.selectbox if box.label == "Load of every start")
    choice.set_value(AGENT_TASK).run()
    assert not at.exception and "the study keeps its load: five-prompts" in captions(at)
    for label, text in (("Agent", "agent -p {model}"), ("Folder on this machine", "/tasks/a"), ("Check", "make test")):
        next(box for box in at.text_input if box.label == label).set_value(text)
    at.run()
    plan = study_of_text(text_of(at), "study")
    params = {"agent": ["agent", "-p", "{model}"], "check": ["make", "test"], "folder": "/tasks/a"}
    assert (plan.workload, plan.params) == (AGENT_TASK, params)
    assert field(at, "Check") == "make test", "the form shows the task of the file"
    assert "the study keeps its load" not in captions(at)


def test_prices_of_the_form_become_those_of_the_plan(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    assert "Currency" not in [box.label for box in at.text_input]
    next(box for box in at.selectbox if box.label == "Decide by").set_value("session_cost").run()
    assert not at.exception
    with pytest.raises(StudyFileError, match=r"'session_cost' needs \[prices\]"):
        study_of_text(text_of(at), "study")
    next(box for box in at.number_input if box.label == "Price of electricity, a kWh").set_value(0.35).run()
    next(box for box in at.text_input if box.label == "Currency").set_value("CHF").run()
    plan = study_of_text(text_of(at), "study")
    assert plan.prices == PriceText(currency="CHF", per_kwh=0.35)
    assert plan.priced_objective and plan.priced_objective.prices == StatedPrices("CHF", per_kwh=0.35)
    assert field(at, "Currency") == "CHF" and field(at, "Price of the machine, an hour") == "None"


def test_form_shows_no_agents_task_to_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "editor")
    at = form()
    choice = next(box for box in at.selectbox if box.label == "Load of every start")
    assert "Agent task: does your agent solve it?" not in choice.options


def test_expected_cost_is_that_of_earlier_runs(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    at.number_input(key="study-starts-1").set_value(12).run()
    assert "Expected: 4 to 12 starts, about 6 min to 18 min (median of 1 finished run" in captions(at)


def test_toml_is_shown_by_the_form(store: Store) -> None:
    at = form()
    write(at, f'title = "Which?"\nseed = 7\n{WHICH}')
    assert field(at, "Question") == "Which?" and field(at, "Smallest difference that matters, %") == "3.0"
    assert field(at, "Arm 2") == "b" and field(at, "Command of arm 2") == "python my_server.py --port 8002"
    assert "Kept as in the TOML: seed." in captions(at)
    at.text_input(key="study-title-1").set_value("Other").run()
    assert study_of_text(text_of(at), "study") == study_of_text(f'title = "Other"\nseed = 7\n{WHICH}', "study")


def test_form_names_what_it_cannot_show(store: Store) -> None:
    at = form()
    text = f'{ONE_ARM}[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 4]\n'
    write(at, text)
    assert "The form cannot show [[vary]] and the question 'value'." in at.info[0].value.replace("\\", "")
    assert text_of(at) == text and at.button(key="begin-study")
    write(at, "question = ")
    assert "not valid TOML" in at.error[0].value and "once the TOML can be read" in at.info[0].value


def test_mistake_is_told_once_in_the_form(store: Store) -> None:
    at = form()
    tick(at, "plain", "seqs")
    arm = next(box for box in at.text_area if box.label == "Command of arm 2")
    arm.set_value("make coffee").run()
    form_errors = [error.value for error in at.tabs[0].error]
    assert len(form_errors) == 1 and "The command of arm 'seqs' cannot be read" in form_errors[0].replace("\\", "")
    assert all(button.key != "begin-study" for button in at.button)
    next(box for box in at.text_input if box.label == "Arm 2").set_value("plain").run()
    assert [error.value for error in at.tabs[0].error] == ["Another arm is also named 'plain'\\."] * 2
    write(at, f'objective = "speed"\n{WHICH}')
    assert "There is no objective 'speed'" in at.tabs[0].error[0].value.replace("\\", "")


def test_commands_are_pasted_and_removed(store: Store) -> None:
    at = form()
    for command in COMMANDS.values():
        at.text_area(key="study-paste-0").set_value(command).run()
    assert field(at, "Arm 1") != field(at, "Arm 2") and at.text_area(key="study-paste-0").value == ""
    assert "under Five prompts" in captions(at)
    next(button for button in at.button if button.help == "Remove arm 1").click().run()
    assert field(at, "Command of arm 1") == COMMANDS["seqs"] and "1 arm so far" in captions(at)


def test_a_press_that_is_seen_twice_removes_one_arm(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit may run a callback for the press, and for the timer of a part of the page at the same moment."""
    button = DeltaGenerator.button

    def seen_twice(self: DeltaGenerator, *args: Any, **options: Any) -> bool:
        act = options.pop("on_click", lambda: None)
        return button(self, *args, on_click=lambda: (act(), act()), **options)

    at = form()
    for command in COMMANDS.values():
        at.text_area(key="study-paste-0").set_value(command).run()
    monkeypatch.setattr(DeltaGenerator, "button", seen_twice)
    at.run()
    next(button for button in at.button if button.help == "Remove arm 1").click().run()
    assert "1 arm so far" in captions(at)


def test_address_names_the_arms(store: Store) -> None:
    at = form(against=["r1"])
    assert field(at, "Arm 1") == "seqs" and "1 arm so far. This question needs two or more." in captions(at)
    at = form(against=["r1", "r0"])
    assert [arm.name for arm in begin(at, store).arms] == ["seqs", "plain"]
    at = form(against=["r0", "gone"])
    assert "not known here" in at.warning[0].value


def test_arms_of_the_address_outlive_a_press_while_they_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("web.study_pages.start_form.source_of_run", ended_by_a_press)
        at = form(against=["r1"])
    assert field(at.run(), "Arm 1") == "seqs"


def ended_by_a_press(_run: Run) -> Never:
    raise StopException


LAUNCH = """
from web.launch import draft
from web.study_pages.compare_against import show_compare_against
show_compare_against()
"""


def test_launch_opens_a_study_against_an_earlier_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    monkeypatch.setattr("streamlit.switch_page", pages.append)
    command = f"{COMMANDS['plain']} --kv-cache-dtype fp8"
    launch = AppTest.from_string(LAUNCH, default_timeout=60)
    base = store.run("r0")
    assert base
    config = explain(command).config
    launch.session_state["draft"] = LaunchDraft(config, command, base=base.config, secrets={})
    launch.run()
    assert str(launch.selectbox[0].value).startswith("plain #1"), "the run from which the draft was taken"
    launch.button(key="compare-against-open").click().run()
    assert not launch.exception and pages == [page_paths.STUDIES]
    draft: StudyDraft = launch.session_state["study-draft"]
    plan = study_of_text(draft.text, "study")
    assert plan.arms[0].name == "plain" and plan.params == {"token_scale": 0.25}
    assert config and [arm.config.fingerprint for arm in plan.arms] == [base.config.fingerprint, config.fingerprint]


def test_nothing_is_compared_before_a_command_is_read(store: Store) -> None:
    launch = AppTest.from_string(LAUNCH, default_timeout=60).run()
    assert not launch.exception and not launch.button and not launch.selectbox
