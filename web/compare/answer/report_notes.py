"""Notes about a comparison that differ from the usual: its workload, margin, server starts and KV pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.claims.own_runs import is_context_beyond_pool, pool_twins
from analysis.compare_arms import propose_objective
from analysis.comparison.arms import Arm
from analysis.comparison.start_spread import start_spread
from analysis.comparison.workload import WorkloadKey
from analysis.verdict import MARGIN, format_margin
from engines.forced_acceptance import forced_sentence
from reports.arms.comparison import ComparisonReport
from web.compare.answer.guard_words import percent


def report_notes(report: ComparisonReport) -> list[str]:
    """Return one sentence each; none if every run is one server start with one load and the margin is the default."""
    notes = []
    names = {run.run_id: run.name for arm in report.arms for run in arm.runs}
    if report.workload and len(report.workloads) > 1:
        title = workload_titles(report.workloads)[report.workload]
        notes.append(f"Compared under the workload {title}; other loads of these runs do not count.")
    if report.without_workload:
        lacking = ", ".join(report.without_workload.values())
        notes.append(f"Left out, since they lack the compared workload: {lacking}.")
    notes += [
        f"{start.name} is left out by rule: its threads waited for a CPU for {percent(start.lost_share)} of the time, "
        f"those of its repeats for at most {percent(start.others_share)}."
        for start in report.starved
    ]
    if report.margin != MARGIN:
        notes.append(f"Differences below {format_margin(report.margin)} count as irrelevant.")
    if report.answers and report.objective != (proposed := propose_objective(report.arms)):
        notes.append(
            f"Not compared by the workload's own objective, {proposed.title}: take this as a lead, unless this "
            "objective was chosen before the measurement. The more objectives are looked at, the likelier one differs "
            "by chance."
        )
    notes += forced_notes(report.arms)
    notes += [
        f"{names[run_id]} counts as a repeat of {names[repeat.target_id]}, as its owner declared: {repeat.reason}."
        for run_id, repeat in report.joined.items()
        if run_id in names and repeat.target_id in names
    ]
    notes += [note for arm in report.arms for note in _start_notes(arm)]
    return [*notes, *spread_notes(report), *pool_notes(report.arms)]


def forced_notes(arms: Sequence[Arm]) -> list[str]:
    """Return a note for each arm whose servers were forced to accept drafts."""
    switches = ((arm, [run.served.forced_acceptance for run in arm.runs]) for arm in arms)
    forced = [(arm, next(filter(None, arm_switches), None)) for arm, arm_switches in switches]
    return [f"{arm.name}: {forced_sentence(switch)}" for arm, switch in forced if switch]


def spread_notes(report: ComparisonReport) -> list[str]:
    """Return a note for each arm with speculation whose starts vary by more than the margin, and by which factor."""
    if not report.answers:
        return []
    replicates = [report.answers[0].replicates[0], *(answer.replicates[1] for answer in report.answers)]
    spreads = [(arm.name, start_spread(of_arm)) for arm, of_arm in zip(report.arms, replicates, strict=True)]
    return [
        f"{name}: between its {spread.starts} starts the speed varies by {percent(spread.value, 1)} (standard "
        f"deviation), tokens per step by {percent(spread.tokens_per_step, 1)} and steps/s by "
        f"{percent(spread.steps_per_s, 1)}."
        for name, spread in spreads
        if spread and spread.value > report.margin
    ]


def pool_notes(arms: Sequence[Arm]) -> list[str]:
    """Return notes on KV pools that are suspiciously equal or too small for a full-length request."""
    twins = [
        f"{twin.second} has exactly the {twin.tokens:,} KV tokens of {twin.first} although they differ in "
        f"{', '.join(twin.differing)}: one of the two is probably capped or copied."
        for twin in pool_twins(arms)
    ]
    short = [arm.name for arm in arms if is_context_beyond_pool(arm.runs[0])]
    return twins + [
        f"{name}: the context is longer than the KV pool, so no full-length request fits." for name in short
    ]


def _start_notes(arm: Arm) -> Iterator[str]:
    starts = arm.starts
    if len(starts) < len(arm.runs):
        start_count = "one server start" if len(starts) == 1 else f"{len(starts)} server starts"
        yield f"{arm.name}: {len(arm.runs)} runs used {start_count}; runs of one server process count as one start."
    if any(len(start.loads) > 1 for start in starts):
        yield f"{arm.name}: several loads on one server start count as one value, their mean."


def workload_titles(workloads: Sequence[WorkloadKey]) -> dict[WorkloadKey, str]:
    """Return a title per workload: its name, with the differing parameters or the id if names are equal."""
    return {
        workload: _title(workload, [namesake for namesake in workloads if namesake.name == workload.name])
        for workload in workloads
    }


def _title(workload: WorkloadKey, namesakes: Sequence[WorkloadKey]) -> str:
    if len(namesakes) == 1:
        return workload.name
    names = sorted({name for namesake in namesakes for name in namesake.params})
    differing = [name for name in names if len({str(namesake.params.get(name)) for namesake in namesakes}) > 1]
    parameters = ", ".join(f"{name} {workload.params.get(name, 'not set')}" for name in differing)
    return f"{workload.name} ({parameters})" if parameters else workload.id
