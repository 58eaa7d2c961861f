"""Until what depth of context each arm's suites of checks hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparison.arms import Arm
from analysis.loads.depth_holds import DepthHolds, depth_holds
from reports.arms.accuracy import Outcomes


@dataclass(frozen=True, slots=True)
class SuiteDepths:
    """A suite's claims by arm id, in the order of the arms; arms that did not try it at two depths have none."""

    suite: str
    by_arm: dict[str, DepthHolds]


def suite_depths(arms: Sequence[Arm], outcomes: Outcomes) -> list[SuiteDepths]:
    """Return the claims of each suite, by the first load of each arm that tried it at two depths or more."""
    by_suite: dict[str, dict[str, DepthHolds]] = {}
    for arm in arms:
        loads = [outcome for run in arm.runs for outcome in outcomes.get(run.run_id, {}).values()]
        for claims in (claims for outcome in loads for claims in depth_holds(outcome.checks)):
            by_suite.setdefault(claims.suite, {}).setdefault(arm.id, claims)
    return [SuiteDepths(suite, by_arm) for suite, by_arm in by_suite.items()]
