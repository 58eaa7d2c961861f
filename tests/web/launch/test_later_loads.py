"""Loads that follow the first one on the same server: chosen on the page, kept by a relaunch."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, WorkloadSpec, utc_now
from web.launch import load_form
from web.launch.draft import LaunchDraft, start_from_run
from web.launch.load_form import loads_of_run
from workloads import spec_for
from workloads.saved_loads import SavedLoad, SavedLoads

LONG = spec_for("ladder", {"tokens": 64})
TWICE = (LONG, spec_for("five-prompts"), LONG)


def form() -> None:
    import streamlit as st

    from web.launch import draft, load_form

    later = load_form.choose_later(draft.current(), "later")
    st.text(" then ".join(f"{one.name} {one.prompt_set_hash}" for one in later) or "none")


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SavedLoads:
    saved_loads = SavedLoads(tmp_path)
    monkeypatch.setattr(load_form, "load_library", lambda: saved_loads)
    return saved_loads


def shown_text(app: AppTest) -> str:
    assert not app.exception
    return app.text[0].value


def words(*specs: WorkloadSpec) -> str:
    return " then ".join(f"{spec.name} {spec.prompt_set_hash}" for spec in specs)


def test_loads_follow_in_chosen_order(loads: SavedLoads) -> None:
    loads.save("Long answers", SavedLoad(workload="ladder", params={"tokens": 64}))
    app = AppTest.from_function(form, default_timeout=60).run()
    assert shown_text(app) == "none"
    app.multiselect[0].set_value(["Saved: Long answers", "Five prompts"]).run()
    assert shown_text(app) == words(LONG, spec_for("five-prompts"))


def test_a_relaunch_begins_with_those_of_its_run(loads: SavedLoads) -> None:
    app = AppTest.from_function(form, default_timeout=60)
    app.session_state["draft"] = LaunchDraft(Config(engine="vllm"), origin="the run A", later_workloads=TWICE)
    assert shown_text(app.run()) == words(*TWICE)
    first, *_ = app.multiselect[0].value
    app.multiselect[0].set_value([first]).run()
    assert shown_text(app) == words(LONG)


def test_a_run_hands_its_later_loads_to_the_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    run = Run(
        id="r", name="A", color=0, config=Config(engine="vllm", argv=("vllm", "serve", "m")), machine_id="m",
        created_at=utc_now(), workload=spec_for("five-prompts"), later_workloads=(LONG,),
    )  # fmt: skip
    start_from_run(run)
    edited = state["draft"]
    assert isinstance(edited, LaunchDraft) and edited.later_workloads == (LONG,) and edited.workload == run.workload


def test_loads_of_a_run_have_distinct_names() -> None:
    assert list(loads_of_run((*TWICE, WorkloadSpec(name="drive:lm-eval"), WorkloadSpec(name="gone")), "the run A")) == [
        "Warm single, then 2, 4, 8 at once, load 2 of the run A", "Five prompts, load 3 of the run A",
        "Warm single, then 2, 4, 8 at once, load 4 of the run A", "lm-eval, load 5 of the run A",
        "gone, load 6 of the run A",
    ]  # fmt: skip
