"""What all answers of a comparison rest on, where it is not the usual: its workload, its margin, what is one start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.claims.own_runs import is_context_beyond_pool, pool_twins
from analysis.comparison.arms import Arm
from analysis.comparison.workload import Workload
from analysis.verdict import MARGIN, margin_words
from reports.arms.comparison import ComparisonReport


def report_notes(report: ComparisonReport) -> list[str]:
    """One sentence each; none where every run is a server start with one load, and the margin was not set."""
    said = []
    if report.workload and len(report.workloads) > 1:
        title = workload_titles(report.workloads)[report.workload]
        said.append(f"Compared under the workload {title}; other loads of these runs do not count.")
    if report.margin != MARGIN:
        said.append(f"Differences below {margin_words(report.margin)} do not matter here.")
    return [*said, *(words for arm in report.arms for words in _start_notes(arm)), *pool_notes(report.arms)]


def pool_notes(arms: Sequence[Arm]) -> list[str]:
    """KV pools that are too equal to be true, or hold no request of full length."""
    twins = [
        f"{twin.second} has exactly the {twin.tokens:,} KV tokens of {twin.first} although they differ in "
        f"{', '.join(twin.differing)}: one of the two is probably capped, or copied."
        for twin in pool_twins(arms)
    ]
    short = [arm.name for arm in arms if is_context_beyond_pool(arm.runs[0])]
    return twins + [
        f"{name}: its context is longer than its KV pool; no request of full length fits." for name in short
    ]


def _start_notes(arm: Arm) -> Iterator[str]:
    starts = arm.starts
    if len(starts) < len(arm.runs):
        words = "one server start" if len(starts) == 1 else f"{len(starts)} server starts"
        yield f"{arm.name}: {len(arm.runs)} runs met {words}; runs of one server process count as one start."
    if any(len(start.loads) > 1 for start in starts):
        yield f"{arm.name}: several loads on one server start count as one, by their mean."


def workload_titles(workloads: Sequence[Workload]) -> dict[Workload, str]:
    """The name of each; where two have one name, with the parameters that they have differently, or with their ids."""
    return {one: _title(one, [other for other in workloads if other.name == one.name]) for one in workloads}


def _title(one: Workload, namesakes: Sequence[Workload]) -> str:
    if len(namesakes) == 1:
        return one.name
    names = sorted({name for other in namesakes for name in other.params})
    unlike = [name for name in names if len({str(other.params.get(name)) for other in namesakes}) > 1]
    words = ", ".join(f"{name} {one.params.get(name, 'not set')}" for name in unlike)
    return f"{one.name} ({words})" if words else one.id
