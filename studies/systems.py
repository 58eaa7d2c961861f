"""On which machines the arms of a study ran: where these are several, whole systems are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from domain import Run

HERE = "this machine"


def of_several_machines(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """A sentence where the arms' servers were on more than one machine; it tells unlike hardware from like."""
    newest = {name: its[-1] for name, its in runs.items() if its and its[-1].provenance}
    if len({run.machine_id for run in newest.values()}) < 2:
        return []
    places = "; ".join(f"{name}: {_words(run)}" for name, run in newest.items())
    kind = "unlike hardware" if len({_hardware(run) for run in newest.values()}) > 1 else "several machines of a kind"
    return [f"The arms ran on {kind} ({places}): the answer is about machine and settings together."]


def _hardware(run: Run) -> tuple[str, str]:
    """CPU and GPUs, as noted at the start."""
    return str(_noted(run, "host").get("cpu")), _gpus(run)


def _words(run: Run) -> str:
    gpus, cpu = _gpus(run), _noted(run, "host").get("cpu")
    return f"{gpus or cpu or 'hardware not told'} on {run.on_host or HERE}"


def _gpus(run: Run) -> str:
    """'2 x H200'; '' for none."""
    told = (run.provenance or {}).get("gpus") or []
    names = Counter(str(gpu.get("name")) for gpu in told)
    return ", ".join(f"{count} \u00d7 {name}" for name, count in sorted(names.items()))


def _noted(run: Run, key: str) -> Mapping[str, Any]:
    return (run.provenance or {}).get(key) or {}
