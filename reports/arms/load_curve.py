"""The two sides of load: tok/s that a user sees, and tok/s that a GPU gives, at every concurrency that arms share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.decide.frontier import Point, points_of
from analysis.decide.rank import Candidate, Ranking, rank
from analysis.decide.viewpoints import View, Viewpoint
from analysis.evidence.objectives import Kind, Objective
from reports.arms.viewpoints import Known, candidate_of, refusals_of

USER = View("Speed of a user", "tok/s", True, "1000 over the median time per output token of the same requests")
GPU = View(
    "Speed of a GPU", "tok/s", True, "output tok/s of all requests over the GPUs; of a machine without any, all of it"
)


def load_curve(known: Known) -> list[Point]:
    """A point each arm and concurrency, with the concurrency as its note."""
    shared = sorted(
        one.concurrency for one in known.report.objectives if one.kind is Kind.OUTPUT_TPS and one.concurrency
    )
    return [point for concurrency in shared for point in _at(known, concurrency)]


def _at(known: Known, concurrency: int) -> list[Point]:
    tpot, output = Objective(Kind.TPOT_MS, concurrency), Objective(Kind.OUTPUT_TPS, concurrency)
    user = [_each(candidate_of(known, Viewpoint.COMPARED, arm, tpot), inverse=1000.0) for arm in known.arms]
    gpus = [len(arm.runs[0].served.gpus or ()) or 1 for arm in known.arms]
    gpu = [
        _each(candidate_of(known, Viewpoint.COMPARED, arm, output), share=count)
        for arm, count in zip(known.arms, gpus, strict=True)
    ]
    return points_of(
        _ranked(known, USER, user, tpot), _ranked(known, GPU, gpu, output), note=f"{concurrency} at once"
    )  # fmt: skip


def _ranked(known: Known, view: View, candidates: Sequence[Candidate], objective: Objective) -> Ranking:
    refused = refusals_of(known, view, candidates, objective)
    return rank(Viewpoint.COMPARED, view, candidates, refused, known.report.margin)


def _each(one: Candidate, inverse: float | None = None, share: int = 1) -> Candidate:
    values = tuple(inverse / value if inverse else value / share for value in one.values)
    return replace(one, values=values)
