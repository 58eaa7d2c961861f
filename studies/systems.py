"""The machines of a study's arms: with several machines, whole systems are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from domain import Run
from reports.arms.served_config import gpus_of

THIS_MACHINE = "this machine"


def machine_warnings(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return a warning if the arms' servers ran on several machines, and whether their hardware differs."""
    newest = {name: arm_runs[-1] for name, arm_runs in runs.items() if arm_runs and arm_runs[-1].provenance}
    if len({run.machine_id for run in newest.values()}) < 2:
        return []
    machines = "; ".join(f"{name}: {_machine_text(run)}" for name, run in newest.items())
    kind = _kind([(_cpu(run), _gpus(run)) for run in newest.values()])
    return [f"The arms ran on {kind} ({machines}): the answer covers machine and settings together."]


def _kind(hardware: Sequence[tuple[str | None, str | None]]) -> str:
    """Compare CPUs and GPUs; unknown hardware never counts as equal."""
    parts = [set(part) for part in zip(*hardware, strict=True)]
    if any(len(part - {None}) > 1 for part in parts):
        return "different hardware"
    is_known = all(None not in part for part in parts)
    return "several identical machines" if is_known else "several machines, some with unknown hardware"


def _cpu(run: Run) -> str | None:
    """The CPU model recorded at the start."""
    return ((run.provenance or {}).get("host") or {}).get("cpu")


def _gpus(run: Run) -> str | None:
    """The GPUs, such as '2 × H200'; '' for none, None if not recorded."""
    names = gpus_of(run.provenance or {}, ())
    if names is None:
        return None
    return ", ".join(f"{count} × {name}" for name, count in sorted(Counter(names).items()))


def _machine_text(run: Run) -> str:
    return f"{_gpus(run) or _cpu(run) or 'unknown hardware'} on {run.on_host or THIS_MACHINE}"
