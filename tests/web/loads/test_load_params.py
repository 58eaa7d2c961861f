"""Every parameter of every workload has an input, and what is refused is said."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from streamlit.testing.v1 import AppTest

from domain import WATCH
from web.loads.forms.load_params import error_sentence, field_title, forecast_text
from workloads import REGISTRY
from workloads.forecast import forecast


@pytest.fixture(autouse=True)
def operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the machine are the operator's."""
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")


def page(workload: str, proposed: dict[str, object]) -> AppTest:
    def script(workload: str, proposed: dict[str, object]) -> None:
        import streamlit as st

        from web.loads.forms.load_params import choose_params

        st.session_state["chosen"] = choose_params(workload, proposed, "key")

    return AppTest.from_function(script, kwargs={"workload": workload, "proposed": proposed}).run(timeout=30)


@pytest.mark.parametrize("name", REGISTRY)
def test_unchanged_load_is_the_workload_itself(name: str) -> None:
    chosen = page(name, {}).session_state["chosen"]
    assert REGISTRY[name].spec(chosen) == REGISTRY[name].spec({})
    assert set(chosen) == set(REGISTRY[name].params_type.model_fields)


def test_source_run_params_are_kept_with_a_change() -> None:
    at = page("ladder", {"tokens": 77, "rungs": [1, 3]})
    assert at.session_state["chosen"]["tokens"] == 77 and at.session_state["chosen"]["rungs"] == [1, 3]
    at.number_input(key="key-ladder-temperature").set_value(0.7).run()
    at.text_input(key="key-ladder-rungs").set_value("2, 16").run()
    chosen = at.session_state["chosen"]
    assert (chosen["temperature"], chosen["rungs"], chosen["tokens"]) == (0.7, [2, 16], 77)


def test_refused_value_shown_and_changes_nothing() -> None:
    at = page("ladder", {})
    at.text_input(key="key-ladder-rungs").set_value("1, many").run()
    assert "Concurrent streams at each rung" in at.error[0].value
    assert at.session_state["chosen"]["rungs"] == [1, 2, 4, 8]


def test_unplannable_file_changes_nothing() -> None:
    at = page("own-prompts", {})
    at.text_input(key="key-own-prompts-file").set_value("/nowhere/prompts").run()
    assert "/nowhere/prompts cannot be read" in at.error[0].value
    assert at.session_state["chosen"]["file"] == ""


def test_optional_value_is_omitted_until_given() -> None:
    at = page("traffic", {"arrival": "Poisson"})
    assert at.session_state["chosen"]["duration_s"] is None
    at.number_input(key="key-traffic-duration_s").set_value(30.0).run()
    at.number_input(key="key-traffic-top_k").set_value(40).run()
    chosen = at.session_state["chosen"]
    assert (chosen["duration_s"], chosen["top_k"], chosen["top_p"]) == (30.0, 40, None)


def test_watching_has_no_parameters() -> None:
    assert page(WATCH.name, {}).session_state["chosen"] == {}


def test_the_plan_is_said_in_requests_and_tokens() -> None:
    assert forecast_text(forecast("five-prompts", {}, 50.0)) == (
        "14 requests and 1 to warm up, at most 11,904 output tokens: at least about 2:56 at 50 tok/s per stream."
    )
    assert "(more as the search goes on)" in forecast_text(forecast("knee", {}, 50.0))
    with pytest.raises(ValidationError) as refused:
        REGISTRY["ladder"].params_type.model_validate({"tokens": 0})
    assert error_sentence(refused.value) == "Tokens: Input should be greater than or equal to 1."
    assert field_title("token_scale") == "Token scale"
