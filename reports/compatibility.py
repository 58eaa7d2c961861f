"""Which of some runs' servers came up on which GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.config_diff import as_started, chips
from analysis.decide.compatibility import Attempt, Place, places
from analysis.model_names import base_name
from domain import Run, RunState
from reports.run_report import engine_title
from reports.served import gpus_of

NO_GPU = "no GPU"


def compatibility(runs: Sequence[Run]) -> list[Place]:
    """Over the runs that Pitwall launched and that came up or failed; what was cancelled before tells nothing."""
    told = sorted((run for run in runs if _tells(run)), key=lambda run: run.started_at or run.created_at)
    return places(_attempt(run) for run in told)


def _tells(run: Run) -> bool:
    return run.kind == "launched" and (run.ready_at is not None or run.state is RunState.FAILED)


def _attempt(run: Run) -> Attempt:
    return Attempt(_configuration(run), _gpu(run), run.ready_at is not None, run.cause, run.id)


def _configuration(run: Run) -> str:
    """'Qwen3-32B · vLLM 0.21 · NVFP4 · MTP 4'."""
    model = [base_name(run.config.model)] if run.config.model else []
    return " · ".join([*model, *chips(as_started(run.config.model_dump(), run.told), engine_title(run))])


def _gpu(run: Run) -> str | None:
    """'2 x NVIDIA H100'; None where nobody looked."""
    names = gpus_of(run.provenance or {}, ())
    if names is None:
        return None
    kinds = list(dict.fromkeys(names))
    return ", ".join(f"{names.count(kind)} x {kind}" if names.count(kind) > 1 else kind for kind in kinds) or NO_GPU
