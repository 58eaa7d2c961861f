"""Agreement of the arms' answers over depth, as Compare and the report draw it: lines with intervals, and a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.loads.clustered_share import TextEstimate
from analysis.loads.fidelity import AgreementPart
from web.compare.answer.fidelity_table import MeasuredFidelity

TITLE = "Same first choice over depth"
DEPTH_AXIS, SHARE_AXIS, BAND_NAME = "depth", "same first choice, %", "the first arm's own"


class SharePoint(NamedTuple):
    """A share at one depth, in per cent, with its interval; without one both ends are the share itself."""

    depth: str
    percent: float
    low: float
    high: float


class AgreementLine(NamedTuple):
    """The shares of one arm, the lowest depth first."""

    arm_id: str
    arm_name: str
    points: tuple[SharePoint, ...]


class AgreementChart(NamedTuple):
    """The lines of the arms and the band of the first arm against its own second start; an empty band: not measured."""

    lines: tuple[AgreementLine, ...]
    band: tuple[SharePoint, ...]

    @property
    def depths(self) -> list[str]:
        """The depths of all lines, in the order in which they occur."""
        return list(dict.fromkeys(point.depth for line in self.lines for point in line.points))


def agreement_chart(measured: Sequence[MeasuredFidelity]) -> AgreementChart | None:
    """Return the chart; None if no arm was measured at two depths."""
    if not any(len(arm.fidelity.by_depth) > 1 for arm in measured):
        return None
    lines = [
        AgreementLine(arm.arm_id, arm.arm_name, tuple(_point(part, part.agreement) for part in arm.fidelity.by_depth))
        for arm in measured
    ]
    floors = [(part, part.floor) for part in measured[0].fidelity.by_depth]
    band = tuple(_point(part, floor) for part, floor in floors if floor is not None and floor.low is not None)
    return AgreementChart(tuple(lines), band)


def _point(part: AgreementPart, estimate: TextEstimate) -> SharePoint:
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return SharePoint(part.label, 100 * estimate.value, 100 * low, 100 * high)
