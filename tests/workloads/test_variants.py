"""A load varied in a parameter: values in the parameter's own type, and what the workload refuses is told."""

from __future__ import annotations

import pytest

from commands.sweep import read_words
from workloads import REGISTRY
from workloads.texts.prompt_file import PlanError
from workloads.variants import load_variants, read_param, variable_params


def values(workload: str, name: str, text: str) -> tuple[object, ...]:
    return read_words(name, text, lambda word: read_param(workload, name, word))


def test_values_have_the_type_of_their_parameter() -> None:
    assert values("ladder", "tokens", "64, 128") == (64, 128)
    assert values("ladder", "temperature", "0, 0.7") == (0.0, 0.7)
    assert values("ladder", "prefix_cache", "as it is, cold start") == ("as it is", "cold start")
    assert values("ladder", "top_p", "none, 0.9") == (None, 0.9)


def test_each_value_is_a_load_with_same_params() -> None:
    params = REGISTRY["ladder"].validate_params({"tokens": 32, "rungs": [2]}).model_dump(mode="json")
    low, high = load_variants("ladder", params, "tokens", (48, 96))
    assert (low.name, low.params["tokens"], low.params["rungs"]) == ("tokens 48", 48, [2])
    assert high.params == {**low.params, "tokens": 96}


@pytest.mark.parametrize(("name", "word"), [("tokens", "many"), ("top_p", "1.5"), ("prefix_cache", "warm")])
def test_bad_value_names_its_parameter(name: str, word: str) -> None:
    with pytest.raises(PlanError, match=f"{word} is not a value for {name}"):
        values("ladder", name, word)


@pytest.mark.parametrize("workload", REGISTRY)
def test_all_params_vary_except_lists_and_files(workload: str) -> None:
    fields, actual_variable_params = REGISTRY[workload].params_type.model_fields, variable_params(workload)
    assert {"seed", "sampling", "top_k"} <= set(actual_variable_params)
    left_out = {name: str(fields[name].annotation) for name in set(fields) - set(actual_variable_params)}
    assert all(any(word in kind for word in ("str", "list", "tuple")) for kind in left_out.values()), left_out


@pytest.mark.parametrize("word", ["inf", "1e400"])
def test_an_endless_number_is_refused(word: str) -> None:
    with pytest.raises(PlanError, match="ttft_p95_ms inf: Input should be a finite number"):
        load_variants("knee", {}, "ttft_p95_ms", [read_param("knee", "ttft_p95_ms", word)])
