"""The protocol of agents on other machines: GPU and host samples of a run, in numbered batches.

One body is a JSON object: `agent`, `machine`, `host`, `thinned` and `batches`, each of these a `number`, how its clock
was related to Pitwall's (`offset_s`, `uncertainty_s`) and samples under the names of samples.py, with `t`, their time
by Pitwall's clock in seconds since the epoch. The reader validates everything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args, get_type_hints

import orjson

from collectors.plausible import why_impossible
from errors import PitwallError
from samples import GpuSample, HostSample

MOST_BODY_BYTES = 1 << 20
MOST_BATCHES = 500
MOST_SAMPLES = 64  # of one batch: a machine and its GPUs
MOST_TEXT = 300  # characters
MOST_REASONS = 40
SET_BY_US = frozenset({"run_id", "ts", "machine_id", "clock_offset_s", "clock_uncertainty_s"})
_AGENT = re.compile(r"[0-9a-f]{32}")
_MACHINE = re.compile(r"[\w.:-]{1,64}", re.ASCII)
Kind = TypeVar("Kind", GpuSample, HostSample)


class RefusedError(PitwallError):
    """What was sent is not what an agent of this version sends, in one sentence."""


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """What one look at a machine brought."""

    number: int
    gpus: tuple[GpuSample, ...]
    hosts: tuple[HostSample, ...]


@dataclass(frozen=True, slots=True)
class NodeMessage:
    """One body, read."""

    agent_id: str
    machine_id: str
    host_name: str
    thinned: int
    batches: tuple[NodeBatch, ...]


def sample_fields(sample: GpuSample | HostSample) -> dict[str, Any]:
    """What of a sample is sent: without what is null, and what the reader sets; its time apart."""
    values = {name: value for name, value in asdict(sample).items() if value is not None and name not in SET_BY_US}
    return values if values["unknown"] else {name: value for name, value in values.items() if name != "unknown"}


def read_message(body: bytes, run_id: str) -> NodeMessage:
    """The message of a body, its samples as those of this run. Raises RefusedError."""
    try:
        parsed = orjson.loads(body)  # refuses also infinity as digits, and text that is not Unicode
    except ValueError:
        raise RefusedError("The body is no JSON with finite numbers.") from None
    said = _object(parsed, {"agent", "machine", "host", "thinned", "batches"}, "the body")
    machine_id = _matching(said, "machine", _MACHINE)
    batches = _list(said, "batches", MOST_BATCHES)
    return NodeMessage(
        agent_id=_matching(said, "agent", _AGENT),
        machine_id=machine_id,
        host_name=_text("host", said["host"]),
        thinned=_count("thinned", said["thinned"]),
        batches=tuple(_batch(one, run_id, machine_id) for one in batches),
    )


def _batch(parsed: Any, run_id: str, machine_id: str) -> NodeBatch:
    said = _object(parsed, {"number", "offset_s", "uncertainty_s", "gpus", "hosts"}, "a batch")
    clock = {"clock_offset_s": _seconds(said, "offset_s"), "clock_uncertainty_s": _seconds(said, "uncertainty_s")}
    owner = {"run_id": run_id, "machine_id": machine_id}
    return NodeBatch(
        number=_count("number", said["number"]),
        gpus=tuple(_sample(GpuSample, one, owner | clock) for one in _list(said, "gpus", MOST_SAMPLES)),
        hosts=tuple(_sample(HostSample, one, owner | clock) for one in _list(said, "hosts", 1)),
    )


def _sample(kind: type[Kind], parsed: Any, owner: Mapping[str, Any]) -> Kind:
    known = _KINDS[kind]
    if (
        not isinstance(parsed, dict)
        or not parsed.keys() <= known.keys() | {"t"}
        or not {"t", "mono_s"} <= parsed.keys()
    ):
        raise RefusedError(
            "A sample has fields that this Pitwall does not know, or lacks its time: is one of both older?"
        )
    values = {name: _value(name, known[name], value) for name, value in parsed.items() if name != "t"}
    try:
        return kind(ts=_moment(parsed["t"]), **owner, **values)
    except TypeError:
        raise RefusedError("A sample lacks what every one has.") from None


def _value(name: str, kind: type, value: Any) -> Any:
    """The value as the sample's field wants it."""
    if kind is dict:
        return _reasons(value)
    if kind is str:
        return _text(name, value)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise RefusedError(f"{name} is no {'whole ' if kind is int else ''}number.")
    if why := why_impossible(name, value):
        raise RefusedError(f"{name} is {why}.")
    return kind(value)


def _reasons(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST_REASONS:
        raise RefusedError(f"unknown is no object of at most {MOST_REASONS} reasons.")
    return {_text("unknown", name): _text("unknown", why) for name, why in value.items()}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise RefusedError(f"{name} is no text of at most {MOST_TEXT} characters.")
    return value


def _matching(said: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    if not isinstance(said[name], str) or not pattern.fullmatch(said[name]):
        raise RefusedError(f"{name} is not what an agent calls it.")
    return str(said[name])


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise RefusedError(f"{name} is no count.")
    return value


def _seconds(said: Mapping[str, Any], name: str) -> float | None:
    value = said[name]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 2**40:
        raise RefusedError(f"{name} is no number of seconds.")
    return float(value)


def _moment(value: Any) -> datetime:
    if isinstance(value, bool):
        raise RefusedError("t is no time.")
    try:
        return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise RefusedError("t is no time.") from None


def _object(parsed: Any, names: set[str], what: str) -> Mapping[str, Any]:
    if not isinstance(parsed, dict) or parsed.keys() != names:
        raise RefusedError(f"{what} has {', '.join(sorted(names))}, all of them and nothing else.")
    return parsed


def _list(said: Mapping[str, Any], name: str, most: int) -> Sequence[Any]:
    if not isinstance(said[name], list) or len(said[name]) > most:
        raise RefusedError(f"{name} is no list of at most {most}.")
    return list(said[name])


def _kinds(sample: type) -> dict[str, type]:
    """Field -> float, int, str or dict."""
    hints = get_type_hints(sample)
    names = [one.name for one in fields(sample) if one.name not in SET_BY_US]
    return {name: dict if name == "unknown" else _plain(hints[name]) for name in names}


def _plain(hint: Any) -> type:
    """`X` of `X | None`."""
    plain: type = next(arm for arm in (*get_args(hint), hint) if arm is not type(None))
    return plain


_KINDS: Mapping[type, Mapping[str, type]] = {kind: _kinds(kind) for kind in (GpuSample, HostSample)}
