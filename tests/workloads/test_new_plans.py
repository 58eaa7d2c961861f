"""Grids, traffic, the knee, sessions and own prompts: what they plan, and what a file may hold."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest
from pydantic import ValidationError

from analysis.loads.knee import knee, next_rung
from load_records import RequestRecord
from workloads import REGISTRY, spec_for
from workloads.natural_text import SeededText, natural_text
from workloads.plan import AS_THEY_ARRIVE
from workloads.shapes.knee import KneeParams, is_within_limits, next_phase
from workloads.shapes.traffic import arrival_times, burst_times
from workloads.texts.prompt_file import MAX_BYTES, PlanError


def test_grid_warms_up_before_every_point() -> None:
    axes = {"prompt_tokens": [64, 128], "output_tokens": [16], "depth_tokens": [0, 256], "concurrency": [1, 2]}
    plan = REGISTRY["grid"].plan(axes | {"repeats": 3})
    measured = [phase for phase in plan if phase.kind == "measure"]
    assert [phase.title for phase in measured][:3] == ["pp64 tg16 d0 c1", "pp128 tg16 d0 c1", "pp64 tg16 d256 c1"]
    assert len(measured) == 8
    assert [len(phase.requests) for phase in plan[-2:]] == [2, 6]
    prompts = [request.text for phase in plan for request in phase.requests]
    assert len(set(prompts)) == len(prompts)
    deep = list(plan[-1].requests)
    assert len({request.text.split("\n\n")[0] for request in deep}) == 1  # one context for all of a point


def test_a_grid_without_end_is_refused() -> None:
    many = list(range(1, 30))
    with pytest.raises(ValidationError, match="more than 200 points"):
        REGISTRY["grid"].plan({"prompt_tokens": many, "output_tokens": many})


def test_text_is_its_seeds_own_and_ample() -> None:
    assert natural_text("a", 500) == natural_text("a", 500) != natural_text("b", 500)
    text = SeededText("a", 1000)
    assert len(text.long_text()) >= 7000 > len(text.approximate_text())
    words = text.long_text().split()
    assert 4 < len(text.long_text()) / len(words) < 7
    assert len(set(words)) > 100


@pytest.mark.parametrize(("burstiness", "spread"), [(0.0, 0.0), (1.0, 1.0), (0.25, 2.0), (4.0, 0.5)])
def test_arrivals_hold_rate_and_spread(burstiness: float, spread: float) -> None:
    times = arrival_times(7, 5.0, burstiness, 20_001)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    mean = fmean(gaps)
    assert mean == pytest.approx(0.2, rel=0.05)
    deviation = fmean((gap - mean) ** 2 for gap in gaps) ** 0.5 / mean
    assert deviation == pytest.approx(spread, abs=0.1)


def test_bursts_come_together() -> None:
    times = list(burst_times(7, 8.0, 4, 4001))
    assert times == sorted(times)
    assert len(set(times)) == 1001
    assert len(times) / times[-1] == pytest.approx(8.0, rel=0.1)


def test_traffic_is_sent_by_times_or_users() -> None:
    closed = REGISTRY["traffic"].plan({"concurrency": 3, "requests": 9})[-1]
    assert (closed.concurrency, closed.requests[0].sent_after_s) == (3, None)
    opened = REGISTRY["traffic"].plan({"arrival": "Poisson", "rate_rps": 2.0, "requests": 9})[-1]
    assert (opened.concurrency, opened.title) == (AS_THEY_ARRIVE, "2 requests/s, Poisson")
    times = [request.sent_after_s for request in opened.requests]
    assert times == sorted(times)
    assert times[0] == 0.0


def test_lengths_spread_evenly_around_the_target() -> None:
    params = {"requests": 400, "prompt_tokens": 1000, "output_tokens": 200, "length_spread": 0.5}
    requests = REGISTRY["traffic"].plan(params)[-1].requests
    lengths = [request.max_tokens for request in requests]
    assert min(lengths) >= 100
    assert max(lengths) <= 300
    assert fmean(lengths) == pytest.approx(200, rel=0.05)


@pytest.mark.parametrize("true_knee", [0, 1, 2, 3, 5, 8, 11, 40, 100, 255, 256, 1000])
def test_the_knee_is_found_in_few_rungs(true_knee: int) -> None:
    tried: dict[int, bool] = {}
    while (rung := next_rung(tried, 1, 256)) is not None and rung not in tried:
        tried[rung] = rung <= true_knee
    actual_knee = knee(tried)
    reachable = min(true_knee, 256)
    assert actual_knee == (None if true_knee == 0 else pytest.approx(reachable, abs=max(1, 0.1 * reachable)))
    assert actual_knee is None or actual_knee <= reachable
    assert len(tried) <= 14


def record(users: int, ttft_ms: float, tpot_ms: float, error: str | None = None) -> RequestRecord:
    request = RequestRecord("r", "id", "knee", "measure", "Traffic", 0, users, datetime(2026, 11, 22, tzinfo=UTC))
    return replace(
        request, ttft_ms=ttft_ms, decode_ms=tpot_ms * 99, total_ms=ttft_ms + tpot_ms * 99, completion_tokens=100,
        error_kind=error,
    )  # fmt: skip


def test_rung_holds_within_limits_without_failure() -> None:
    params = KneeParams(ttft_p95_ms=100.0, tpot_p95_ms=20.0)
    good = [record(4, 90.0, 19.0)] * 20
    assert is_within_limits(params, good)
    assert not is_within_limits(params, [*good[:-2], record(4, 900.0, 19.0), record(4, 900.0, 19.0)])
    assert not is_within_limits(params, [*good, record(4, 90.0, 40.0), record(4, 90.0, 40.0)])
    assert not is_within_limits(params, [*good, record(4, 90.0, 19.0, error="http")])
    at_once = record(4, 90.0, 0.0)  # every piece was read in one go: nobody waited between tokens
    assert is_within_limits(params, [*good, at_once])
    assert not is_within_limits(params, [*good, replace(at_once, decode_ms=None)])


def test_next_rung_follows_the_measurement() -> None:
    params = KneeParams(ttft_p95_ms=100.0, tpot_p95_ms=20.0, requests_per_user=2)
    phase = next_phase(params, [record(1, 50.0, 10.0), record(2, 60.0, 12.0)])
    assert phase is not None
    assert (phase.concurrency, len(phase.requests), phase.kind) == (4, 8, "measure")
    assert next_phase(params, [record(1, 50.0, 10.0), record(2, 500.0, 12.0)]) is None


def test_session_grows_with_recorded_answers() -> None:
    (phase,) = REGISTRY["session"].plan({"sessions": 2, "turns": 3, "context_tokens": 900})
    assert phase.concurrency == 2
    first = [request for request in phase.requests if request.thread == 0]
    assert [request.prompt_class for request in first] == ["turn 01", "turn 02", "turn 03"]
    assert [len(request.messages) for request in first] == [2, 4, 6]
    assert first[1].messages[:2] == first[0].messages
    assert first[2].messages[3]["role"] == "tool"
    assert first[0].tools


def test_recorded_session_is_replayed_verbatim(tmp_path: Path) -> None:
    file = tmp_path / "sessions.jsonl"
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    more = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    file.write_text(json.dumps({"messages": [*chat, *more], "think_s": [0.0, 2.5]}) + "\n")
    (phase,) = REGISTRY["session"].plan({"file": str(file)})
    assert [(len(request.messages), request.think_s) for request in phase.requests] == [(1, 0.0), (3, 2.5)]
    (hasty,) = REGISTRY["session"].plan({"file": str(file), "with_think_time": False})
    assert [request.think_s for request in hasty.requests] == [0.0, 0.0]


def test_own_prompts_come_typed_or_from_a_file(tmp_path: Path) -> None:
    typed = REGISTRY["own-prompts"].plan({"prompts": "One?\n\nTwo?\n", "warmup_requests": 0, "rounds": 2})
    assert [request.prompt for request in typed[0].requests] == ["One?", "Two?"] * 2
    file = tmp_path / "prompts.jsonl"
    lines = [{"prompt": "A", "class": "Short", "max_tokens": 9}, {"messages": [{"role": "user", "content": "B"}]}]
    file.write_text("\n".join(map(json.dumps, lines)))
    _, phase = REGISTRY["own-prompts"].plan({"file": str(file), "output_tokens": 77})
    assert [(r.prompt_class, r.max_tokens, len(r.messages)) for r in phase.requests] == [
        ("Short", 9, 0),
        ("Own", 77, 1),
    ]
    before = spec_for("own-prompts", {"file": str(file)}).prompt_set_hash
    file.write_text("another prompt\n")
    assert spec_for("own-prompts", {"file": str(file)}).prompt_set_hash != before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no lines"),
        ('{"prompt": "a"}\n{"prompt": ""}', "line 2: Value error, it has neither"),
        ('{"prompt": "a"}\n{"prompt": ', "line 2: Invalid JSON"),
        ('{"prompt": "a", "max_tokens": -1}', "line 1: max_tokens"),
        ("x\n" * 20_001, "more than 20,000 lines"),
    ],
)
def test_unusable_file_is_refused_with_the_line(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "prompts"
    file.write_text(text)
    with pytest.raises(PlanError, match=sentence):
        REGISTRY["own-prompts"].plan({"file": str(file)})


def test_invalid_or_oversized_file_is_refused(tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path, "is a folder"),
        (tmp_path / "none", "No such file"),
        (Path("/dev/zero"), "device"),
    ):
        with pytest.raises(PlanError, match=sentence):
            REGISTRY["own-prompts"].plan({"file": str(path)})
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(PlanError, match="larger than 64 MiB"):
        REGISTRY["session"].plan({"file": str(large)})


def test_server_sampling_sends_only_the_length() -> None:
    for name in REGISTRY:
        plan = REGISTRY[name].plan({"sampling": "left to the server"})
        keys = {key for phase in plan for request in phase.requests for key in request.sampling}
        assert keys == {"max_tokens", "ignore_eos"}
    sampling = REGISTRY["ladder"].plan({"top_p": 0.9, "min_p": 0.05})[0].requests[0].sampling
    assert sampling["top_p"], sampling["min_p"] == (0.9, 0.05)
    assert "top_k" not in sampling


def test_recorded_chats_begin_at_their_times_without_idle_ones(tmp_path: Path) -> None:
    """A main chat, a subagent within it, and a chat an hour later."""
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    times = [{"starts_s": 0.0, "ends_s": 300.0}, {"starts_s": 100.0, "ends_s": 150.0}, {"starts_s": 3900.0}]
    file = tmp_path / "chats.jsonl"
    lines = [{"messages": messages, "think_s": [0.0]} | chat for chat in times]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (phase,) = REGISTRY["session"].plan({"file": str(file), "sessions": 3})
    assert phase.concurrency == 3
    assert [request.think_s for request in phase.requests] == [0.0, 100.0, 330.0]
    (hasty,) = REGISTRY["session"].plan({"file": str(file), "sessions": 3, "with_think_time": False})
    assert [request.think_s for request in hasty.requests] == [0.0, 0.0, 0.0]
