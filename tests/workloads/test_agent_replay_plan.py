"""Plans of agent replays: what is sent when, within which limits, and which prompts begin alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from analysis.sessions.agent_shape import ANSWER, AgentShape, ShapeRequest, ShapeSpan, SharedPrefix
from commands.study_file import study_of_text
from load_records import OWN_ANSWERS
from studies.plan_check import UnknownLoadError, load_specs
from tests.studies.test_study_file import WHICH
from tests.workloads.texts.test_shape_files import MOONCAKE, trace
from workloads import REGISTRY, spec_for
from workloads.forecast import forecast, refusal_of_context
from workloads.plan import Phase, PlannedRequest
from workloads.shapes.seeded_agents import SeededAgents, seeded_shape
from workloads.texts.replayed_prompt import Answers, replayed_prompts
from workloads.texts.shape_file import write_shape
from workloads.texts.shaped_words import WordCounts, estimated_counts

WORDS = WordCounts(dict.fromkeys(estimated_counts().tokens_of, 2), ("~",))  # every word has two tokens
SMALL = {"turns": 3, "first_prompt_tokens": 100, "tool_result_tokens": 30, "output_tokens": 8}


def plan(**params: Any) -> list[Phase]:
    return REGISTRY["agent-replay"].plan(params)


def texts(request: PlannedRequest) -> list[str]:
    assert request.replayed
    return [WORDS.text_of(segment.seed, segment.tokens) for segment in request.replayed.segments]


def request(**fields: Any) -> ShapeRequest:
    return ShapeRequest(**{"session": 0, "turn": 1, "output_tokens": 5} | fields)


def test_prompts_begin_alike_for_as_many_tokens_as_recorded() -> None:
    """A prompt is left within a span, and a later one leaves it there too."""
    requests = (
        request(spans=(ShapeSpan("a", "system", 50), ShapeSpan("b", "text", 60))),
        request(shares=SharedPrefix(0, 71), spans=(ShapeSpan("c", "text", 20),)),
        request(shares=SharedPrefix(1, 30), spans=(ShapeSpan("d", "text", 9),)),
    )
    first, second, third = (prompt.segments for prompt in replayed_prompts(requests, 7, "generated"))
    assert [segment.tokens for segment in first] == [30, 20, 21, 39]
    assert second[:3] == first[:3] and second[3].tokens == 20 and second[3] != first[3]
    assert third[0] == first[0] and third[1].tokens == 9


def test_texts_have_exactly_their_tokens() -> None:
    for tokens in (1, 2, 7, 100):
        text = WORDS.text_of("seed", tokens)
        assert 2 * text.count(" ") + text.count("~") == tokens
    assert WORDS.text_of("seed", 100) == WORDS.text_of("seed", 100) != WORDS.text_of("other", 100)


def test_answer_stands_for_itself_unless_it_was_computed_again() -> None:
    answer, result = ShapeSpan("x", ANSWER, 5), ShapeSpan("r", "tool_result", 5)
    first = request(spans=(ShapeSpan("a", "text", 50),))
    fields = {"follows": 0, "shares": SharedPrefix(0, 50), "spans": (answer, result)}
    for cached, answered in ((None, 0), (54, 0), (50, None)):
        prompts = replayed_prompts((first, request(**fields, cached_tokens=cached)), 7, "the server's own")
        assert prompts[1].segments[1].answers == answered
        assert prompts[0].is_answer_needed == (answered == 0)
    assert not replayed_prompts((first, request(**fields)), 7, "generated")[0].is_answer_needed


def test_generated_session_has_the_published_figures() -> None:
    """Codex on SWE-bench Pro: about 80,000 tokens at turn 30, 131 prompt tokens per answer token, 94.2 % cached."""
    shapes = [seeded_shape(SeededAgents(), seed).requests for seed in range(60)]
    prompt = sum(r.prompt_tokens for requests in shapes for r in requests)
    shared = sum(r.shares.tokens for requests in shapes for r in requests if r.shares)
    answers = sum(r.output_tokens for requests in shapes for r in requests)
    assert sum(requests[29].prompt_tokens for requests in shapes) / 60 == pytest.approx(80_000, rel=0.05)
    assert prompt / answers == pytest.approx(131, rel=0.25)
    assert shared / prompt == pytest.approx(0.942, abs=0.01)


def test_subagents_run_at_once_and_are_waited_for() -> None:
    (phase,) = plan(**SMALL, subagents=2, subagent_turns=2)
    assert phase.concurrency == 0
    assert [r.waits_for for r in phase.requests] == [(), (0,), (1,), (2,), (1,), (4,), (1, 3, 5)]
    assert {r.facts["session"] for r in phase.requests} == {0, 1, 2}
    assert phase.requests[6].facts["prefix"]["follows"] == 1
    assert all(r.sampling["ignore_eos"] for r in phase.requests)


def test_replays_of_one_shape_are_one_workload(tmp_path: Path) -> None:
    spec = REGISTRY["agent-replay"]
    for place in ("here", "there"):
        write_shape(tmp_path / place / "shape.jsonl", seeded_shape(SeededAgents(**SMALL), 1))
    write_shape(tmp_path / "other.jsonl", seeded_shape(SeededAgents(**SMALL), 2))
    prompt_set_hash, there, other_prompt_set_hash = (
        spec.prompt_set_hash({"file": str(tmp_path / name)})
        for name in ("here/shape.jsonl", "there/shape.jsonl", "other.jsonl")
    )
    assert prompt_set_hash == there != other_prompt_set_hash


def test_limits_leave_out_and_pauses_are_scaled(tmp_path: Path) -> None:
    trace(tmp_path, MOONCAKE)
    file = str(tmp_path / "trace.jsonl")
    (phase,) = plan(file=file, speed_up=2.0, max_pause_s=4.0)
    assert [r.sent_after_s for r in phase.requests] == [0.0, 0.25, 2.25]
    assert [len(p.requests) for p in plan(file=file, max_requests=2, replays=2)] == [2, 2]
    assert len(plan(file=file, max_prompt_tokens=2900)[0].requests) == 2
    assert [r.max_tokens for r in plan(file=file, max_context_tokens=1500)[0].requests] == [52, 5]
    slow = AgentShape((request(spans=(ShapeSpan("a", "text", 9),)), request(
        spans=(ShapeSpan("b", "text", 9),), waits_for=(0,), pause_s=600.0)))  # fmt: skip
    write_shape(tmp_path / "slow.jsonl", slow)
    assert [r.think_s for r in plan(file=str(tmp_path / "slow.jsonl"))[0].requests] == [0.0, 30.0]


def test_request_that_is_left_out_is_not_waited_for(tmp_path: Path) -> None:
    spans = (ShapeSpan("a", "text", 50),)
    long = request(spans=(ShapeSpan("b", "text", 5000),), waits_for=(0,), follows=0)
    shape = AgentShape((request(spans=spans), long, request(spans=spans, waits_for=(1,), follows=1, turn=3)))
    write_shape(tmp_path / "shape.jsonl", shape)
    (phase,) = plan(file=str(tmp_path / "shape.jsonl"), max_context_tokens=1000)
    assert [r.waits_for for r in phase.requests] == [(), (0,)]
    assert phase.requests[1].facts["prefix"]["follows"] == 0


def test_forecast_follows_the_longest_way() -> None:
    actual_forecast = forecast("agent-replay", SMALL | {"pause_s": 0.0}, 50.0)
    assert actual_forecast.requests == 3 and actual_forecast.seconds == pytest.approx(
        actual_forecast.output_tokens / 50.0
    )
    assert "longest request of this load needs" in str(refusal_of_context("agent-replay", {}, 8192))


def test_protocol_that_cannot_ask_for_exact_lengths_is_refused() -> None:
    with pytest.raises(ValidationError, match="endpoint"):
        plan(endpoint="messages")


def test_study_sends_a_shape(tmp_path: Path) -> None:
    write_shape(tmp_path / "shape.jsonl", seeded_shape(SeededAgents(**SMALL), 1))
    workload = '[[workload]]\nname = "agent-replay"\n[workload.params]\n'
    text = f'{WHICH.partition("[[workload]]")[0]}{workload}file = "{tmp_path / "shape.jsonl"}"\nspeed_up = 2.0\n'
    (spec,) = load_specs(study_of_text(text, "question").per_workload(), spec_for)
    assert (spec.name, spec.params["speed_up"], spec.params["max_pause_s"]) == ("agent-replay", 2.0, 30.0)
    missing = text.replace("shape.jsonl", "nothing.jsonl")
    with pytest.raises(UnknownLoadError, match=r"nothing\.jsonl cannot be read"):
        load_specs(study_of_text(missing, "question").per_workload(), spec_for)


def test_setting_of_the_servers_own_answers_is_the_guards() -> None:
    assert get_args(Answers) == ("generated", OWN_ANSWERS)
    assert REGISTRY["agent-replay"].params_type().answers == OWN_ANSWERS
