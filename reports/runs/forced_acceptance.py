"""The switch by which a run's server was forced to accept drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.runs.effective_config import EffectiveRow
from domain import Run
from engines import BY_NAME
from engines.forced_acceptance import FACT


def forced_acceptance_of(run: Run, effective: Sequence[EffectiveRow]) -> str | None:
    """Return the switch in the command, in the environment at the start, or in the log; None: it is not forced."""
    engine = BY_NAME.get(run.config.engine)
    inherited = None if run.config.image else (run.provenance or {}).get("environment")
    if engine and engine.forced_acceptance:
        env = {**(inherited if isinstance(inherited, Mapping) else {}), **run.config.env}
        if switch := engine.forced_acceptance(run.config.model_copy(update={"env": env})):
            return switch
    logged = next((row.effective for row in effective if row.field == FACT and row.effective), None)
    return str(logged) if logged else None
