"""Until what depth of context each arm's suites of checks hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparison.arms import Arm
from analysis.loads.depth_holds import DepthHolds


@dataclass(frozen=True, slots=True)
class SuiteDepths:
    """A suite's claims by arm id, in the order of the arms; arms that did not try it at two depths have none."""

    suite: str
    by_arm: dict[str, DepthHolds]


def suite_depths(arms: Sequence[Arm]) -> list[SuiteDepths]:
    """Return the claims of each suite that an arm tried at two depths or more."""
    by_suite: dict[str, dict[str, DepthHolds]] = {}
    for arm in arms:
        for suite, claims in arm.depths.items():
            by_suite.setdefault(suite, {})[arm.id] = claims
    return [SuiteDepths(suite, by_arm) for suite, by_arm in by_suite.items()]
