"""The section 'Same answers?': its cells, its markup, its chart, and whom it offers to measure."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from analysis.compare_arms import ArmComparison
from analysis.comparison.facts import RunFacts
from analysis.guard import RowCode
from analysis.guard.quality import changed_rows, quality
from analysis.loads.fidelity import build_fidelity_loads
from domain import Config, Run
from load_records import FIDELITY, Load
from samples import Batch
from storage.store import Store
from tests.analysis.comparison.hand_made import pair_of
from tests.analysis.comparison.ideal_engine import T0
from tests.analysis.guard.test_quality import start
from tests.analysis.loads.test_fidelity import load
from tests.web.report_export.conftest import Report, report, runs
from web.compare.answer.agreement_chart import agreement_chart
from web.compare.answer.fidelity_section import depth_figure, refusals_to_measure
from web.compare.answer.fidelity_table import (
    HEAD,
    MeasuredFidelity,
    fidelity_cells,
    fidelity_table,
    measured_fidelities,
    part_cells,
)
from web.compare.answer.sentence import answer_sentence
from web.compare.viewpoints.frontier_plots import plots
from web.report_export.agreement_drawing import agreement_drawing
from web.report_export.markdown import report_markdown
from web.report_export.sections import fidelity
from web.report_export.tables import TABLES, fidelity_fields

__all__ = ["report", "runs"]


def answer(changed_share: float | None) -> ArmComparison:
    pair = pair_of(
        [start("a", 0.0, kv_cache_dtype="f16"), start("a2", 0.0, 1, kv_cache_dtype="f16")],
        [start("b", changed_share, 2, kv_cache_dtype="q4_0")],
    )
    return ArmComparison(pair, ((), ()), (quality(pair),))


def test_engines_that_cannot_be_measured_are_named_once() -> None:
    """What trtllm-serve lacks was read in its source, not recorded from a server."""
    runs = [run_of(engine, number) for number, engine in enumerate(("vllm", "trtllm", "trtllm", "sglang", "llamacpp"))]
    (refusal,) = refusals_to_measure(runs)
    assert refusal.endswith(
        "TensorRT-LLM: its API turns no text into token ids and names likely tokens by their text, "
        "which several may share."
    )


def run_of(engine: str, number: int) -> Run:
    return Run(id=f"run-{number}", name=engine, color=0, machine_id="m", created_at=T0, config=Config(engine=engine))


def test_cells_state_agreement_floor_and_answer() -> None:
    measured = measured_fidelities([answer(0.05)])
    (cells,) = fidelity_cells(measured)
    by_head = dict(zip(HEAD, cells, strict=True))
    assert by_head["Answer"] == "differs"
    assert by_head["First arm's own"].startswith("100.0 % (")
    assert 94 < float(by_head["Same first choice"].split()[0]) < 96
    assert [row[0] for row in part_cells(measured)] == ["512 tokens", "prose"]
    fields = fidelity_fields(measured[0].fidelity)
    assert fields["answer"] == "differs" and fields["floor"] == 1.0 and fields["unchanged_greedy"] is None


def test_markup_and_chart_show_every_measured_arm() -> None:
    measured = measured_fidelities([answer(0.05)])
    html = fidelity_table(measured, {measured[0].arm_id: 1})
    assert "differs" in html and "512 tokens" in html


def measured_at_depths() -> list[MeasuredFidelity]:
    """An arm that agrees less often at the greater of two depths."""

    def start_at_depths(name: str, changed: float, seed: int) -> RunFacts:
        deep = (replace(p, depth_tokens=8000, prefix_tokens=8000) for p in load(name, changed, seed).positions.values())
        return replace(start(name), fidelity=tuple(build_fidelity_loads([*load(name).positions.values(), *deep])))

    pair = pair_of([start_at_depths("a", 0.0, 0), start_at_depths("a2", 0.01, 1)], [start_at_depths("b", 0.2, 2)])
    return measured_fidelities([ArmComparison(pair, ((), ()), (quality(pair),))])


def test_compare_and_the_report_draw_the_same_agreement_over_depth() -> None:
    measured = measured_at_depths()
    chart, colors = agreement_chart(measured), {measured[0].arm_id: 1}
    assert chart is not None and chart.depths == ["512 tokens", "8,000 tokens"]
    figure = depth_figure(chart, colors)
    assert [trace.name for trace in figure.data if trace.name] == ["the first arm's own", measured[0].arm_name]
    line, band = figure.data[-1], figure.data[1]
    drawing = agreement_drawing(chart, colors)
    ElementTree.fromstring(re.search("<svg.*</svg>", drawing)[0])  # type: ignore[index]
    for depth, percent, below, above in zip(line.x, line.y, line.error_y.arrayminus, line.error_y.array, strict=True):
        assert f"{depth}: {percent:.1f} % ({percent - below:.1f} to {percent + above:.1f})" in drawing
    assert line.y[1] < 85 < line.y[0] and list(band.y) == [point.low for point in chart.band]
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', drawing)]
    assert heights[0] < heights[1], "less agreement stands lower"
    assert "the first arm&#x27;s own" in drawing and drawing.count("<polygon") == 1


def test_one_depth_has_no_chart() -> None:
    assert agreement_chart(measured_fidelities([answer(0.05)])) is None


def test_arms_without_a_measurement_have_no_table() -> None:
    unmeasured = answer(None)
    assert measured_fidelities([unmeasured]) == []
    assert fidelity_table([], {}) == ""
    assert changed_rows(unmeasured.pair) == [RowCode.KV_DTYPE]


def measured_answers(store: Store, run: Run, changed_share: float, seed: int) -> None:
    load_id = f"fidelity-{run.id}"
    positions = load(load_id, changed_share, seed).positions.values()
    records = [replace(position, run_id=run.id) for position in positions]
    store.write(Batch((Load(run.id, load_id, T0, "pitwall", FIDELITY), *records))).result()


@pytest.fixture
def answered_runs(store: Store, runs: list[Run]) -> list[Run]:
    for place, changed_share in {0: 0.0, 1: 0.0, 3: 0.05}.items():  # two starts of the first arm, one of the second
        measured_answers(store, runs[place], changed_share, place)
    return runs


def test_answers_are_the_same_everywhere(report: Report, answered_runs: list[Run]) -> None:
    data = report(answered_runs)
    (answer,) = data.comparison.answers
    sentence = answer_sentence(answer, {})
    assert (
        "Its answers: first choice as" in sentence and "they differ more than two starts of the baseline do" in sentence
    )
    text = report_markdown(data)
    assert sentence in text.replace("\\", "") and "## Same answers?" in text
    (row,) = TABLES["fidelity"](data)
    assert row["answer"] == "differs" and row["floor"] == 1.0
    assert fidelity(data, {arm.id: 0 for arm in data.comparison.arms}).count("<table") == 2
    (guarded,) = [row for row in answer.rows if row.code is RowCode.QUALITY]
    assert guarded.values["agreement"][0] == row["agreement"]


def test_speed_against_the_same_answers_is_offered_before_other_pairs(report: Report, answered_runs: list[Run]) -> None:
    data = report(answered_runs)
    first = plots(data.rankings, [])[0]
    assert (first.x.title, first.y.higher_is_better) == ("Same answers", True)
    assert first.title.endswith(" against same answers")
    shares = {point.arm_id: point.x for point in first.points}
    assert sorted(shares.values()) == [pytest.approx(95, abs=1), 100.0]
    assert all(point.x_interval and point.y_interval for point in first.points)


def test_fidelity_load_is_no_workload_of_the_comparison(report: Report, answered_runs: list[Run]) -> None:
    comparison = report(answered_runs).comparison
    assert comparison.workload is not None and comparison.workload.name != FIDELITY
    assert FIDELITY not in {workload.name for workload in comparison.workloads}
