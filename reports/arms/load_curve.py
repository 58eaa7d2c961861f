"""Load curve: tok/s per user against tok/s per GPU, at every concurrency that the arms share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.decide.frontier import FrontierPoint, points_of
from analysis.decide.rank import RankCandidate, Ranking, rank
from analysis.decide.viewpoints import Viewpoint, ViewpointTerms
from analysis.evidence.objectives import Objective, ObjectiveKind
from reports.arms.viewpoints import ViewpointInputs, candidate_of, refusals_of

USER = ViewpointTerms(
    "Speed per user", "tok/s", True, "1000 divided by the median time per output token of the same requests"
)
GPU = ViewpointTerms(
    "Speed per GPU",
    "tok/s",
    True,
    "output tok/s of all requests divided by the GPUs; the total on a machine without GPUs",
)


def load_curve(inputs: ViewpointInputs) -> list[FrontierPoint]:
    """Return one point per arm and concurrency, with the concurrency as its note."""
    concurrencies = sorted(
        objective.concurrency
        for objective in inputs.report.objectives
        if objective.kind is ObjectiveKind.OUTPUT_TPS and objective.concurrency
    )
    return [point for concurrency in concurrencies for point in _points_at(inputs, concurrency)]


def _points_at(inputs: ViewpointInputs, concurrency: int) -> list[FrontierPoint]:
    tpot, output = Objective(ObjectiveKind.TPOT_MS, concurrency), Objective(ObjectiveKind.OUTPUT_TPS, concurrency)
    user = [_scaled(candidate_of(inputs, Viewpoint.COMPARED, arm, tpot), inverse=1000.0) for arm in inputs.arms]
    gpus = [len(arm.runs[0].served.gpus or ()) or 1 for arm in inputs.arms]
    gpu = [
        _scaled(candidate_of(inputs, Viewpoint.COMPARED, arm, output), share=count)
        for arm, count in zip(inputs.arms, gpus, strict=True)
    ]
    return points_of(
        _ranked(inputs, USER, user, tpot), _ranked(inputs, GPU, gpu, output), note=f"{concurrency} at once"
    )  # fmt: skip


def _ranked(
    inputs: ViewpointInputs, view: ViewpointTerms, candidates: Sequence[RankCandidate], objective: Objective
) -> Ranking:
    refused = refusals_of(inputs, view, candidates, objective)
    return rank(Viewpoint.COMPARED, view, candidates, refused, inputs.report.margin)


def _scaled(candidate: RankCandidate, inverse: float | None = None, share: int = 1) -> RankCandidate:
    values = tuple(inverse / value if inverse else value / share for value in candidate.values)
    return replace(candidate, values=values)
