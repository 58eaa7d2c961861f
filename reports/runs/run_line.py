"""What the list of runs says of a run that has ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from math import inf

from analysis.runs.printed import in_place_of
from analysis.runs.run_line import RunLine
from domain import Run
from reasons import Code, Reason
from reports.formulas import formulas
from reports.runs.run_report import RunReport, report_on
from reports.runs.under_load import UnderLoad, under_load
from storage.ask import queries, run_queries
from storage.ask.load_queries import load_speeds
from storage.ask.run_queries import NUMBERS
from storage.published_query import ASKING_FAILURES

PENDING = RunLine(None, None, None, None, None, None, None)  # of a run whose line is computed in the background
NOT_COMPUTED = RunLine(None, None, None, None, None, None, Reason(Code.NOT_COMPUTED))
Reports = Callable[[Sequence[Run]], Iterable[RunReport]]
SETTLED_AFTER = timedelta(seconds=60)  # of the end: the last lines of a log and of its requests come a little later
log = logging.getLogger(__name__)


def lines_of(
    store: queries.Asked, runs: Sequence[Run], reports: Reports | None = None, most: int | None = None
) -> dict[str, RunLine]:
    """The line of each run by its id: as the store keeps it, else computed now, of `reports` where given.

    most: how many are computed at most; those of further runs are PENDING.
    """
    kept = run_queries.kept_lines(store, [run.id for run in runs], formulas()) if runs else {}
    missing = [run for run in runs if run.id not in kept]
    pending = dict.fromkeys((run.id for run in missing[most:]), PENDING) if most is not None else {}
    return kept | compute_each(store, missing[:most], reports) | pending


def compute_lines(store: queries.Asked, runs: Sequence[Run], reports: Reports | None = None) -> dict[str, RunLine]:
    """The line of each run by its id, by one question a kind for all of them. reports: where they are known already."""
    if not runs:
        return {}
    speeds = load_speeds(store, [run.id for run in runs])
    found = list(reports(runs) if reports else report_on(store, runs))
    ids = [run.id for run in runs]
    peaks, preempted = queries.run_peaks(store, ids), queries.preemptions(store, ids)
    loaded = [report.run.id for report in found if report.requests.sent]
    met = under_load(store, loaded) if loaded else {}
    return {
        one.run.id: _line(one, *speeds[one.run.id], peaks[one.run.id], preempted[one.run.id], met.get(one.run.id))
        for one in found
    }


def compute_each(store: queries.Asked, runs: Sequence[Run], reports: Reports | None = None) -> dict[str, RunLine]:
    """As compute_lines, but a run of which it fails, for a broken file or rows, costs no other: it is NOT_COMPUTED."""
    try:
        return compute_lines(store, runs, reports)
    except ASKING_FAILURES as error:
        if len(runs) > 1:
            return {run.id: compute_each(store, [run], reports)[run.id] for run in runs}
        log.warning("What the list says of run %s could not be computed: %s", runs[0].id, str(error).splitlines()[0])
        return {runs[0].id: NOT_COMPUTED}


def in_order(runs: Sequence[Run], lines: Mapping[str, RunLine], order_by: str, is_reversed: bool = False) -> list[Run]:
    """The runs with the highest number of this kind first, those of which it is not known last; else as they came.

    is_reversed: the lowest first, and what is not known last all the same.

    The store orders by the lines that it keeps; these may be of runs that have just ended, or by newer formulas.
    """
    if order_by not in NUMBERS:
        return list(runs)
    numbers = {run_id: getattr(line, NUMBERS[order_by]) for run_id, line in lines.items()}
    sign = 1 if is_reversed else -1
    return sorted(runs, key=lambda run: inf if (number := numbers.get(run.id)) is None else sign * number)


def _line(
    report: RunReport,
    stream_tps: float | None,
    output_tps: float | None,
    peaks: queries.Peaks,
    preempted: float | None,
    met: UnderLoad | None,
) -> RunLine:
    said = report.summary
    per_step = said.factors.tokens_per_step if said.factors else None
    measured = (said.typical_tps, said.peak_tps, per_step, report.acceptance.length)
    printed = in_place_of(said, report.printed)
    by_log = (printed.median_tps, printed.lines, printed.definition) if printed else ()
    line = RunLine(stream_tps, output_tps, *measured, said.reason, *by_log)
    return replace(
        line,
        acceptance_rate=report.acceptance.rate,
        preemptions=preempted,
        kv_usage_peak_ratio=peaks.kv_usage_ratio,
        gpu_memory_peak_gib=peaks.gpu_memory_gib,
        **(asdict(met) if met else {}),
    )
