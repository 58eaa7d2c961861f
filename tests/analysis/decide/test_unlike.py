"""Metrics that the compared loads do not share are neither ranked nor marked. By hand, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm, arms_of
from analysis.comparison.facts import RunFacts
from analysis.decide.rank import Ranking, RankingOutcome
from analysis.decide.viewpoints import Viewpoint
from analysis.evidence.objectives import parse_objective
from analysis.guard import RowCode
from analysis.runs.conditions import Span
from analysis.runs.speed_summary import summarize
from analysis.runs.windows import Window
from domain import Config, Run
from reports.arms.comparison import ComparisonReport, comparison_of, rankable_arms
from reports.arms.other_loads import without_loads
from reports.arms.viewpoints import ViewpointInputs, rankings
from reports.runs.physics import physics_of
from reports.runs.prices import Prices
from reports.runs.run_report import RunReport
from storage.queries.run_data import Acceptance, EngineUsage, RequestTotals
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.hand_made import T0, load, request, run
from tests.analysis.comparison.ideal_engine import SERVED, IdealEngine, on_one_start, repeats
from tests.analysis.comparison.stored.test_store_to_answer import stored

JITTER = (0.995, 1.0, 1.005)
NOTHING_DRAFTED = Acceptance()
COUNTED, LOGGED = "vllm.counter", "vllm.log"


def window(end_s: float, decode_tps: float, definition: str = COUNTED, window_s: float = 2.0) -> Window:
    return Window(
        end_s, window_s, window_s, decode_tps * window_s, None, decode_tps, None, None, None, "active", definition,
        requests_running=1.0, streams=1.0,
    )  # fmt: skip


def windows_at(decode_tps: float, definition: str = COUNTED, window_s: float = 2.0) -> list[Window]:
    return [window(window_s * (n + 1), decode_tps, definition, window_s) for n in range(8)]


def report_of(run_id: str, windows: Sequence[Window], acceptance: Acceptance = NOTHING_DRAFTED) -> RunReport:
    of_run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m1", created_at=T0, ready_at=T0)
    return RunReport(of_run, list(windows), summarize(windows), acceptance, EngineUsage(), RequestTotals())


def starts(name: str, times: float = 1.0, **fields: object) -> list[RunFacts]:
    """Three starts of one configuration under five requests, `times` as fast."""
    served = replace(SERVED, settings={"max_num_seqs": 1 if name == "a" else 2})
    return [
        run(
            f"{name}{n}",
            load(
                [request(i, 2.0 * i, decode_ms=900.0 * jitter / times, **fields) for i in range(5)],
                workload="other" if "error_kind" in fields else "w",
            ),
            served=served,
            startup_s=20.0 * jitter,
        )
        for n, jitter in enumerate(JITTER)
    ]


def compared(arms: Sequence[Arm], objective: str) -> ComparisonReport:
    by = parse_objective(objective)
    return ComparisonReport(tuple(arms), by, (by,), tuple(compare_arms(arms, by)))


def ranked(store: Store, report: ComparisonReport, reports: dict[str, RunReport]) -> dict[Viewpoint, Ranking]:
    facts = {run.run_id: run for arm in report.arms for run in arm.runs}
    physics = {run_id: physics_of(store, report, facts[run_id], Prices()) for run_id, report in reports.items()}
    return {ranking.viewpoint: ranking for ranking in rankings(ViewpointInputs(report, reports, physics, {}))}


OF_WINDOWS = (Viewpoint.PEAK_P99, Viewpoint.PEAK_MAXIMUM, Viewpoint.TYPICAL, Viewpoint.FLOOR)


def test_log_windows_not_compared_with_counters(store: Store) -> None:
    arms = arms_of([*starts("a"), *starts("b")])
    report = compared(arms, "decode_tps")
    assert report.answers[0].is_ranked
    counted = {
        start.run_id: report_of(start.run_id, windows_at(100.0 * j))
        for start, j in zip(starts("a"), JITTER, strict=True)
    }
    for windows, is_ranked in (
        (windows_at(90.0, "sglang.counter"), True),
        (windows_at(90.0, LOGGED, 10.0), False),
        (windows_at(90.0, COUNTED, 10.0), False),
    ):
        reports_by_run_id = {start.run_id: report_of(start.run_id, windows) for start in starts("b")}
        found = ranked(store, report, counted | reports_by_run_id)
        for viewpoint in OF_WINDOWS:
            rows = [row.code for _, refused in found[viewpoint].refused for row in refused]
            assert rows == ([] if is_ranked else [RowCode.DEFINITION]), (viewpoint, windows[0])


def test_startup_objective_ranks_only_startup(store: Store) -> None:
    arms = arms_of([*starts("a"), *starts("b", 3.0, error_kind="timeout")])
    report = compared(arms, "startup_s")
    assert report.answers[0].is_ranked
    reports = {
        run.run_id: report_of(run.run_id, windows_at(300.0 if run.run_id[0] == "b" else 100.0))
        for arm in arms
        for run in arm.runs
    }
    found = ranked(store, report, reports)
    assert found[Viewpoint.STARTUP].outcome is not RankingOutcome.NOT_RANKED
    for viewpoint in (*OF_WINDOWS, Viewpoint.TTFT, Viewpoint.COST):
        assert found[viewpoint].outcome not in (RankingOutcome.BEST, RankingOutcome.TIE), viewpoint


def test_number_marked_only_between_alike_arms() -> None:
    """Prompts from the cache are a note for decoding, and forbid holding first tokens against each other."""
    cached = {"first_chunk_tokens": 1, "cached_prompt_tokens": 90, "collapse": {"looped_ratio": 0.0}}
    report = compared(arms_of([*starts("a"), *starts("b", extra=cached)]), "decode_tps")
    other = report.arms[1].id
    assert set(rankable_arms(report, parse_objective("decode_tps"))) == set(rankable_arms(report, None)) == {other}
    assert rankable_arms(report, parse_objective("ttft_ms@1")) == {}
    assert set(rankable_arms(report, parse_objective("startup_s"))) == {other}


def test_concurrent_extra_load_is_in_no_speed() -> None:
    report = report_of("a0", [window(2.0 * n, 100.0 if n < 6 else 800.0) for n in range(1, 12)], Acceptance(3.0, 0.5))
    other_span = Span("a0", T0 + timedelta(seconds=11), T0 + timedelta(seconds=30))
    cut = without_loads(report, [other_span])
    assert (report.summary.alone.typical_tps, cut.summary.alone.typical_tps) == (800.0, 100.0)
    assert [window.since_ready_s for window in cut.windows] == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert cut.acceptance.length is None, "of the whole run it was known, of this part it is not"
    assert without_loads(report, []) is report


def test_comparison_lists_excluded_loads(store: Store) -> None:
    rng, engine = np.random.default_rng(5), IdealEngine(0.02, start_sd=0.005)
    plain = repeats(engine, "five-prompts", 2, rng, token_scale=0.1)
    busy = [
        on_one_start(repeat, more)
        for repeat, more in zip(
            repeats(engine, "five-prompts", 2, rng, token_scale=0.1),
            repeats(engine, "ladder", 2, rng, tokens=48, repeats=2),
            strict=True,
        )
    ]
    made = [stored(store, one, k, 10 * k + n) for k, arm in ((0, plain), (4, busy)) for n, one in enumerate(arm)]
    report = comparison_of(store, runs_of(store, [run.id for run in made]))
    left_out = {run_id: len(spans) for run_id, spans in report.other_loads.items()}
    assert left_out == {one.run_id: int(one in busy) for one in (*plain, *busy)}
    (span,) = report.other_loads[busy[0].run_id]
    sent_ats = [request.sent_at for request in busy[0].loads[1].requests]
    assert span.began_at == min(sent_ats) and span.ended_at > max(sent_ats)


@pytest.mark.parametrize(
    ("concurrency", "speculates", "missing"), [(1.0, None, ("tokens_per_step",)), (None, False, ("requests",))]
)
def test_bandwidth_share_is_not_one_when_unknown(
    store: Store, concurrency: float | None, speculates: bool | None, missing: tuple[str, ...]
) -> None:
    report = report_of("a0", windows_at(100.0))
    report = replace(report, summary=replace(report.summary, concurrency=concurrency, speeds=()))
    physics = physics_of(store, report, replace(starts("a")[0], speculates=speculates), Prices())
    assert physics.share.value is None and physics.share.reason
    assert set(missing) <= set(physics.share.reason.values["inputs"])
