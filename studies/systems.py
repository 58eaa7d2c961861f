"""On which machines the arms of a study ran: where these are several, whole systems are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from domain import Run
from reports.arms.served import gpus_of

HERE = "this machine"


def of_several_machines(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """A sentence where the arms' servers were on more than one machine; it distinguishes unlike hardware from like."""
    newest = {name: its[-1] for name, its in runs.items() if its and its[-1].provenance}
    if len({run.machine_id for run in newest.values()}) < 2:
        return []
    places = "; ".join(f"{name}: {_words(run)}" for name, run in newest.items())
    kind = _kind([(_cpu(run), _gpus(run)) for run in newest.values()])
    return [f"The arms ran on {kind} ({places}): the answer is about machine and settings together."]


def _kind(hardware: Sequence[tuple[str | None, str | None]]) -> str:
    """By CPUs and GPUs; what is not known is never equal to another that is not known."""
    parts = [set(part) for part in zip(*hardware, strict=True)]
    if any(len(part - {None}) > 1 for part in parts):
        return "unlike hardware"
    is_known = all(None not in part for part in parts)
    return "several machines of a kind" if is_known else "several machines, not all of known hardware"


def _cpu(run: Run) -> str | None:
    """As noted at the start."""
    return ((run.provenance or {}).get("host") or {}).get("cpu")


def _gpus(run: Run) -> str | None:
    """'2 × H200'; '' for none, None where nobody looked."""
    names = gpus_of(run.provenance or {}, ())
    if names is None:
        return None
    return ", ".join(f"{count} × {name}" for name, count in sorted(Counter(names).items()))


def _words(run: Run) -> str:
    return f"{_gpus(run) or _cpu(run) or 'hardware not known'} on {run.on_host or HERE}"
