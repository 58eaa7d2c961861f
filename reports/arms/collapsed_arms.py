"""Arms whose answers loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.comparison.arms import Arm
from analysis.runs.collapse import is_collapse
from reports.runs.run_report import RunReport


def collapsed_arms(arms: Iterable[Arm], reports: Sequence[RunReport]) -> dict[str, float]:
    """Return arm id -> the highest share of looping answers of its runs, for arms with a run that collapses."""
    ratios = {report.run.id: report.requests.looping_ratio for report in reports}
    highest = {arm.id: max((ratios.get(run.run_id) or 0.0 for run in arm.runs), default=0.0) for arm in arms}
    return {arm_id: ratio for arm_id, ratio in highest.items() if is_collapse(ratio)}
