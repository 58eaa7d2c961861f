"""Requirements of a study on the answers of its arms, judged by their fidelity loads against the first arm's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.comparison.arms import Arm
from analysis.guard.quality import fidelity_loads
from analysis.loads.clustered_share import TextEstimate
from analysis.loads.fidelity import Fidelity, compare_fidelity
from commands.study_file import StudyPlan


def requirement_causes(plan: StudyPlan, arms: Mapping[str, Arm]) -> dict[str, str]:
    """Return arm -> why it is out: its answers certainly agree less with the first arm's than the plan requires.

    An arm stays while its interval reaches the requirement, and while it is not measured.
    """
    return {
        name: f"its first choice is that of {plan.arms[0].name} at {_interval_text(agreement)} of places; "
        f"{100 * requirement.agreement:.1f} % are required"
        for requirement in plan.require
        for name, agreement in _agreements(plan, arms)
        if agreement.high is not None and agreement.high < requirement.agreement
    }


def unmeasured_arms(plan: StudyPlan, arms: Mapping[str, Arm]) -> list[str]:
    """Return the arms with a start whose answers a requirement could not be held against."""
    if not plan.require:
        return []
    measured = {name for name, _ in _agreements(plan, arms)}
    return [name for name in arms if name != plan.arms[0].name and name not in measured]


def _agreements(plan: StudyPlan, arms: Mapping[str, Arm]) -> Iterator[tuple[str, TextEstimate]]:
    first = plan.arms[0].name
    if first not in arms:
        return
    references = fidelity_loads(arms[first])
    for name, arm in arms.items():
        fidelity = compare_fidelity(references, fidelity_loads(arm)) if name != first else None
        if isinstance(fidelity, Fidelity):
            yield name, fidelity.agreement


def _interval_text(estimate: TextEstimate) -> str:
    """Return '93.1 % (91.0 % to 95.0 %)'."""
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.value:.1f} %"
    return f"{100 * estimate.value:.1f} % ({100 * estimate.low:.1f} % to {100 * estimate.high:.1f} %)"
