"""The demo: how long its answers are on which machine, and what Live says and shows of it meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import Config, Run, RunState, Speculation
from web.guided_demo.pace import FEWEST_TOKENS, FULL_TOKENS, ROUND_S, tokens_at, tokens_for_this_machine
from web.guided_demo.start import PARAMS, WORKLOAD
from web.guided_demo.tour import baseline_first, current_round, progress_text
from workloads import spec_for

NOW = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)


def demo_run(number: int, state: RunState, took_s: float | None = None, tokens: int = FULL_TOKENS) -> Run:
    return Run(
        id=f"r{number}",
        name=f"Demo #{number}",
        color=0,
        config=Config(speculative=Speculation(method="ngram") if number % 3 else None),
        machine_id="m",
        created_at=NOW,
        started_at=NOW if took_s else None,
        ended_at=NOW + timedelta(seconds=took_s) if took_s else None,
        state=state,
        round=1 + number // 3,
        workload=spec_for(WORKLOAD, PARAMS | {"tokens": tokens}),
    )


@pytest.mark.parametrize(
    ("slower", "tokens"), [(0.5, 600), (1.0, 600), (1.2, 600), (1.3, 400), (1.5, 400), (2.0, 400), (50.0, 400)]
)
def test_slow_cores_get_shorter_answers(slower: float, tokens: int) -> None:
    assert tokens_at(slower * ROUND_S) == tokens


def test_short_demo_stays_unchanged() -> None:
    assert tokens_at(50 * ROUND_S, full=FEWEST_TOKENS) == FEWEST_TOKENS
    assert tokens_at(50 * ROUND_S, full=64) == 64
    assert FEWEST_TOKENS <= tokens_for_this_machine() <= FULL_TOKENS


def test_tour_shows_progress_and_end_time() -> None:
    runs = [demo_run(0, RunState.FINISHED, 10.0), demo_run(1, RunState.FINISHED, 20.0), demo_run(2, RunState.RUNNING)]
    runs += [demo_run(number, RunState.QUEUED) for number in range(3, 9)]
    assert progress_text(runs) == "Demo: 2 of 9 starts done, about 1:45 to go; then the answer opens automatically."
    assert progress_text(runs[2:]) == "Demo: 0 of 7 starts done; then the answer opens automatically."


def test_it_says_that_a_machine_is_slow_or_busy() -> None:
    words = progress_text([demo_run(0, RunState.RUNNING, tokens=400)])
    assert words.endswith("This machine is slow or busy: its answers have 400 tokens instead of 600.")


def test_live_follows_the_round_that_works() -> None:
    runs = [demo_run(number, RunState.FINISHED, 10.0) for number in range(4)]
    assert current_round(runs) == []
    runs += [demo_run(4, RunState.RUNNING), demo_run(5, RunState.QUEUED), demo_run(6, RunState.QUEUED)]
    assert current_round(runs) == ["r3", "r4", "r5"]


def test_run_without_speculation_is_the_baseline() -> None:
    runs = [demo_run(number, RunState.FINISHED, 10.0) for number in (1, 2, 3, 4, 0)]
    assert [run.id for run in baseline_first(runs)] == ["r3", "r0", "r1", "r2", "r4"]
