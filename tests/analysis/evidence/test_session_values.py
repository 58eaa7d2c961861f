"""Values of agent sessions, by turns whose times are written here, and what they are compared and refused for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import ArmComparison, available_objectives, compare_arms, propose_objective
from analysis.comparison.arms import Arm
from analysis.comparison.replicates import make_replicate
from analysis.evidence.loads import LoadRecord
from analysis.evidence.measure import evidence_keys, measure
from analysis.evidence.objectives import Objective, ObjectiveKind, parse_objective
from analysis.evidence.session_values import sessions_of
from analysis.guard import RowCode
from analysis.loads.agent_tasks import SolvedCount
from analysis.physics.money import StatedPrices
from analysis.runs.conditions import Conditions
from load_records import AGENT_TASK, RequestRecord
from reasons import Code
from tests.analysis.comparison.hand_made import arm, faster, load, request, run
from web.compare.answer.sentence import answer_sentence

TURNS = 8


def turn(session: int, number: int, ttft_ms: float, cached: int = 80) -> RequestRecord:
    """A turn of 900 ms of decoding after its first token."""
    place = session * TURNS + number
    facts = {"session": session, "turn": number + 1, "cached_prompt_tokens": cached, "collapse": {"looped_ratio": 0.0}}
    return request(
        place, float(place), ttft_ms=ttft_ms, total_ms=ttft_ms + 900.0, prompt_class=f"turn {number}", extra=facts
    )


def session_load(times: float = 1.0, cached: int = 80, **asked: Any) -> LoadRecord:
    """Two sessions whose first tokens take 100 ms more with every turn."""
    turns = [turn(session, number, 100.0 * (number + 1), cached) for session in (0, 1) for number in range(TURNS)]
    return load(faster(turns, 1 / times), **({"workload": "session"} | asked))


def value_of(record: LoadRecord, objective: str) -> float | None:
    requested_objective = parse_objective(objective)
    return measure(record, requested_objective, evidence_keys([record], requested_objective), None).value


def test_turn_time_and_ttft_at_depth() -> None:
    """First tokens after 100 to 800 ms: 1.35 s a turn on average, and 750 ms in the last two of eight turns."""
    record = session_load()
    assert [len(session) for session in sessions_of(record)] == [TURNS, TURNS]
    assert value_of(record, "turn_s") == pytest.approx(1.35)
    assert value_of(record, "deep_ttft_ms") == pytest.approx(750.0)


def test_a_failed_turn_is_no_value_and_keeps_its_place() -> None:
    turns = [turn(0, number, 100.0 * (number + 1)) for number in range(TURNS)]
    turns[-1] = replace(turns[-1], error_kind="http")
    assert value_of(load(turns, workload="session"), "deep_ttft_ms") == pytest.approx(700.0)


def test_other_loads_have_no_sessions() -> None:
    requested_objective = parse_objective("turn_s")
    measurement = measure(session_load(workload="traffic"), requested_objective, frozenset(), None)
    assert measurement.value is None and measurement.reason and measurement.reason.code is Code.NO_SESSION
    names = [objective.name for objective in available_objectives([arm(run("a", session_load(workload="traffic")))])]
    assert "turn_s" not in names
    with_sessions = [objective.name for objective in available_objectives([arm(run("a", session_load()))])]
    assert {"turn_s", "deep_ttft_ms", "session_j", "ttft_ms@1"} <= set(with_sessions)
    assert "solved_per_hour" not in with_sessions


def test_energy_a_session_needs_power() -> None:
    record, objective = session_load(), parse_objective("session_j")
    known = run("a", record, conditions=(Conditions("a", "l", energy_j=600.0),))
    assert make_replicate(known, objective, frozenset()).value == pytest.approx(300.0)
    unknown = make_replicate(run("a", record), objective, frozenset())
    assert unknown.value is None and unknown.reason and unknown.reason.code is Code.NO_ENERGY


def test_cost_a_session_at_stated_prices() -> None:
    """Two sessions of 600 J together; their 16 turns begin a second apart, and the last takes 1.7 s."""
    known = run("a", session_load(), conditions=(Conditions("a", "l", energy_j=600.0),))
    hours, kwh = (15.0 + 1.7) / 2 / 3600, 300.0 / 3.6e6
    for prices, cost in [
        (StatedPrices("EUR", 1.2, 0.35), 1.2 * hours + 0.35 * kwh),
        (StatedPrices("EUR", per_kwh=0.35), 0.35 * kwh),
        (StatedPrices("EUR", per_hour=1.2), 1.2 * hours),
    ]:
        objective = Objective(ObjectiveKind.SESSION_COST, prices=prices)
        assert make_replicate(known, objective, frozenset()).value == pytest.approx(cost)
        assert objective.terms.unit == "EUR" and objective.name == "session_cost"


@pytest.mark.parametrize(("prices", "workload", "code"), [
    (None, "session", Code.NO_STATED_PRICES),
    (StatedPrices("EUR", 1.2, 0.35), "session", Code.NO_ENERGY),
    (StatedPrices("EUR", 1.2, 0.35), "traffic", Code.NO_SESSION),
])  # fmt: skip
def test_unknown_cost_has_its_reason(prices: StatedPrices | None, workload: str, code: Code) -> None:
    objective = Objective(ObjectiveKind.SESSION_COST, prices=prices)
    unknown = make_replicate(run("a", session_load(workload=workload)), objective, frozenset())
    assert unknown.value is None and unknown.reason and unknown.reason.code is code
    hourly = Objective(ObjectiveKind.SESSION_COST, prices=StatedPrices("EUR", per_hour=1.2))
    assert make_replicate(run("a", session_load()), hourly, frozenset()).value, "no energy is needed without its price"


def arms(*sides: Sequence[LoadRecord], **facts: Any) -> list[Arm]:
    return [
        arm(*(run(f"{name}-{n}", record, **facts) for n, record in enumerate(side)))
        for name, side in zip("ab", sides, strict=True)
    ]


def compared(objective: str, *sides: Sequence[LoadRecord]) -> ArmComparison:
    return compare_arms(arms(*sides), parse_objective(objective))[0]


SLOW = [session_load(factor) for factor in (2.0, 2.01, 1.99)]
FAST = [session_load(factor) for factor in (1.0, 1.005, 0.995)]


@pytest.mark.parametrize(("objective", "title"), [
    ("turn_s", "time per turn"), ("deep_ttft_ms", "time to first token at depth"),
])  # fmt: skip
def test_sessions_are_compared_by_their_turns(objective: str, title: str) -> None:
    answer = compared(objective, FAST, SLOW)
    assert answer.is_ranked and answer.judgement and answer.judgement.ratio == pytest.approx(2.0, rel=0.02)
    assert answer_sentence(answer, {}).startswith(f"The {title} of b-0 is 2.00× that of a-0, which is worse")


def test_another_cache_state_is_not_ranked() -> None:
    answer = compared("turn_s", FAST, [session_load(2.0, cached=0), session_load(2.01, cached=0)])
    assert [row.code for row in answer.refused] == [RowCode.PREFIX_CACHE]


# --- agent tasks ----------------------------------------------------------------------------------------------------
def task_load(times: float, task_hash: str = "h", number: int = 0) -> LoadRecord:
    """One repeat whose two requests no other load has."""
    texts = [f"{number}-{times}-{n}" for n in range(2)]
    requests = [
        request(n, float(n), 0, prompt_hash=text, total_ms=1000.0 * times, phase_index=0)
        for n, text in enumerate(texts)
    ]
    return load(requests, workload=AGENT_TASK, tool=AGENT_TASK, prompt_set_hash=task_hash, planned_requests=None)


def task_arms(*counts: Sequence[SolvedCount], hashes: Sequence[str] = ("h", "h")) -> list[Arm]:
    return [
        arm(
            *(
                run(f"{name}-{n}", task_load(1.0 + n / 100, task_hash, n), solved={"l": count})
                for n, count in enumerate(side)
            )
        )
        for name, side, task_hash in zip("ab", counts, hashes, strict=True)
    ]


def test_solved_tasks_an_hour() -> None:
    """The phase of a hand-made load takes 10 s: one solved repeat in 10 s is 360 an hour."""
    objective = parse_objective("solved_per_hour")
    replicate = make_replicate(run("a", task_load(1.0), solved={"l": SolvedCount(1, 2)}), objective, frozenset())
    assert replicate.value == pytest.approx(360.0)
    none = make_replicate(run("a", task_load(1.0), solved={"l": SolvedCount(0, 2)}), objective, frozenset())
    assert none.value is None and none.reason and none.reason.code is Code.NONE_SOLVED
    assert make_replicate(run("a", task_load(1.0)), objective, frozenset()).reason.code is Code.NO_TASK  # type: ignore[union-attr]


def test_agents_compare_by_whole_tasks_though_they_share_no_request() -> None:
    pair = task_arms([SolvedCount(4, 5), SolvedCount(4, 5)], [SolvedCount(1, 5), SolvedCount(1, 5)])
    assert propose_objective(pair).name == "solved_per_hour"
    (answer,) = compare_arms(pair)
    assert answer.is_ranked and answer.judgement and answer.judgement.ratio == pytest.approx(0.25)
    (by_turn,) = compare_arms(pair, parse_objective("turn_s"))
    assert by_turn.judgement and by_turn.judgement.ratio == pytest.approx(1.0)


def test_another_task_or_agent_version_is_not_ranked() -> None:
    pair = task_arms([SolvedCount(4, 5)] * 2, [SolvedCount(1, 5)] * 2, hashes=("h", "other"))
    (answer,) = compare_arms(pair)
    assert RowCode.PROMPTS in [row.code for row in answer.refused]
