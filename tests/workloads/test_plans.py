"""The plans of the registry: what they send, and what makes two of them comparable."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from pydantic import ValidationError

from domain import WATCH
from workloads import REGISTRY, spec_for
from workloads.plan import Endpoint


def test_five_prompts_are_the_five_of_the_source() -> None:
    plan = REGISTRY["five-prompts"].plan({})
    sequential = [(r.prompt_class, r.max_tokens) for r in plan[1].requests]
    assert sequential == [("Q&A", 256), ("Code", 512), ("JSON", 1024), ("Math", 32), ("LongCode", 2048)]
    assert [(p.kind, p.concurrency, len(p.requests)) for p in plan] == [
        ("warmup", 1, 1),
        ("measure", 1, 5),
        ("measure", 1, 5),
        ("measure", 4, 4),
    ]
    assert [r.max_tokens for r in plan[3].requests] == [1024] * 4
    assert len({r.prompt for r in plan[3].requests}) == 4


def test_the_ladder_climbs_1_2_4_8() -> None:
    plan = REGISTRY["ladder"].plan({})
    assert [phase.concurrency for phase in plan if phase.kind == "measure"] == [1, 2, 4, 8]
    assert {r.max_tokens for phase in plan for r in phase.requests} == {256}


@pytest.mark.parametrize("name", REGISTRY)
def test_spec_has_all_params_and_survives_json(name: str) -> None:
    spec = spec_for(name)
    assert spec.params.keys() == REGISTRY[name].params_type.model_fields.keys()
    assert spec.params == json.loads(json.dumps(spec.params))
    assert spec_for(name, spec.params) == spec


@pytest.mark.parametrize("name", REGISTRY)
def test_the_hash_tells_what_is_sent_apart(name: str) -> None:
    field = REGISTRY[name].params_type.model_fields["endpoint"]
    refused = {"session": "completions"}.get(name)  # its generated chats cannot be sent there
    args = [endpoint for endpoint in get_args(field.annotation) if endpoint not in (field.default, refused)]
    changes = [{}, {"seed": 8}, *({"endpoint": endpoint} for endpoint in args)]
    assert len({spec_for(name, change).prompt_set_hash for change in changes}) == len(changes)


def test_tools_and_images_are_of_chats_alone() -> None:
    annotations = {name: REGISTRY[name].params_type.model_fields["endpoint"].annotation for name in REGISTRY}
    limited = {name: get_args(annotation) for name, annotation in annotations.items() if annotation != Endpoint}
    chat_only = dict.fromkeys(["tool-matrix", "tools-at-depth", "needles", "vision"], ("chat",))
    assert limited == chat_only | {"agent-replay": ("completions",)}, "its prompts have exact tokens, no template"


def test_hash_follows_limits_and_concurrency() -> None:
    changes = [{}, {"tokens": 257}, {"temperature": 0.5}, {"rungs": [4], "repeats": 1}, {"rungs": [2], "repeats": 2}]
    assert len({spec_for("ladder", change).prompt_set_hash for change in changes}) == len(changes)


def test_a_plan_holds_to_its_limits() -> None:
    workload = REGISTRY["demo-stream"]
    params = {"requests": 3, "tokens": 100, "warmup_tokens": 20}
    assert [r.max_tokens for phase in workload.plan(params) for r in phase.requests] == [20, 100, 100, 100]


def test_watching_sends_nothing() -> None:
    assert spec_for("watch") == WATCH
    assert WATCH.prompt_set_hash is None


def test_wrong_names_and_parameters_are_refused() -> None:
    with pytest.raises(KeyError):
        spec_for("nonsense")
    with pytest.raises(ValidationError, match="Extra inputs"):
        spec_for("ladder", {"rung": 3})
