"""Protocol of agents on other machines: GPU and host samples of a run, in numbered batches.

A body is a JSON object: `agent`, `machine`, `host`, `thinned` and `batches`. Each batch has a `number`, the relation of
its clock to Pitwall's (`offset_s`, `uncertainty_s`) and samples with the field names of samples.py plus `t`, their time
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

from collectors.value_limits import why_impossible
from errors import PitwallError
from samples import GpuSample, HostSample

MAX_BODY_BYTES = 1 << 20
MAX_BATCHES = 500
MAX_SAMPLES = 64  # of one batch: a machine and its GPUs
MAX_TEXT_CHARS = 300  # characters
MAX_REASONS = 40
READER_FIELDS = frozenset({"run_id", "ts", "machine_id", "clock_offset_s", "clock_uncertainty_s"})
_AGENT = re.compile(r"[0-9a-f]{32}")
_MACHINE = re.compile(r"[\w.:-]{1,64}", re.ASCII)
SampleType = TypeVar("SampleType", GpuSample, HostSample)


class RefusedError(PitwallError):
    """The body is not one that an agent of this version sends; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """Samples of one machine at one time."""

    number: int
    gpus: tuple[GpuSample, ...]
    hosts: tuple[HostSample, ...]


@dataclass(frozen=True, slots=True)
class NodeMessage:
    """A parsed body."""

    agent_id: str
    machine_id: str
    host_name: str
    thinned: int
    batches: tuple[NodeBatch, ...]


def sample_fields(sample: GpuSample | HostSample) -> dict[str, Any]:
    """Return the sent fields of a sample: no null values, and none that the reader sets (its time is sent as `t`)."""
    values = {name: value for name, value in asdict(sample).items() if value is not None and name not in READER_FIELDS}
    return values if values["unknown"] else {name: value for name, value in values.items() if name != "unknown"}


def read_message(body: bytes, run_id: str) -> NodeMessage:
    """Parse a body; its samples belong to this run. Raises RefusedError."""
    try:
        parsed = orjson.loads(body)  # also rejects numbers that overflow to infinity and invalid Unicode
    except ValueError:
        raise RefusedError("The body is not JSON with finite numbers.") from None
    body_fields = _object(parsed, {"agent", "machine", "host", "thinned", "batches"}, "the body")
    machine_id = _matching_text(body_fields, "machine", _MACHINE)
    batches = _list(body_fields, "batches", MAX_BATCHES)
    return NodeMessage(
        agent_id=_matching_text(body_fields, "agent", _AGENT),
        machine_id=machine_id,
        host_name=_text("host", body_fields["host"]),
        thinned=_count("thinned", body_fields["thinned"]),
        batches=tuple(_batch(batch, run_id, machine_id) for batch in batches),
    )


def _batch(parsed: Any, run_id: str, machine_id: str) -> NodeBatch:
    fields_of_batch = _object(parsed, {"number", "offset_s", "uncertainty_s", "gpus", "hosts"}, "a batch")
    clock = {
        "clock_offset_s": _seconds_or_none(fields_of_batch, "offset_s"),
        "clock_uncertainty_s": _seconds_or_none(fields_of_batch, "uncertainty_s"),
    }
    owner = {"run_id": run_id, "machine_id": machine_id}
    return NodeBatch(
        number=_count("number", fields_of_batch["number"]),
        gpus=tuple(_sample(GpuSample, sample, owner | clock) for sample in _list(fields_of_batch, "gpus", MAX_SAMPLES)),
        hosts=tuple(_sample(HostSample, sample, owner | clock) for sample in _list(fields_of_batch, "hosts", 1)),
    )


def _sample(sample_type: type[SampleType], parsed: Any, owner: Mapping[str, Any]) -> SampleType:
    field_types = _FIELD_TYPES[sample_type]
    if (
        not isinstance(parsed, dict)
        or not parsed.keys() <= field_types.keys() | {"t"}
        or not {"t", "mono_s"} <= parsed.keys()
    ):
        raise RefusedError(
            "A sample has fields that this Pitwall does not know, or no time: are agent and Pitwall of one version?"
        )
    values = {name: _value(name, field_types[name], value) for name, value in parsed.items() if name != "t"}
    try:
        return sample_type(ts=_time(parsed["t"]), **owner, **values)
    except TypeError:
        raise RefusedError("A sample lacks a required field.") from None


def _value(name: str, field_type: type, value: Any) -> Any:
    """Return the value in the type of the sample's field."""
    if field_type is dict:
        return _reasons(value)
    if field_type is str:
        return _text(name, value)
    if isinstance(value, bool) or not isinstance(value, int if field_type is int else int | float):
        raise RefusedError(f"{name} is not a {'whole ' if field_type is int else ''}number.")
    if reason := why_impossible(name, value):
        raise RefusedError(f"{name} is {reason}.")
    return field_type(value)


def _reasons(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MAX_REASONS:
        raise RefusedError(f"unknown is not an object of at most {MAX_REASONS} reasons.")
    return {_text("unknown", name): _text("unknown", reason) for name, reason in value.items()}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise RefusedError(f"{name} is not a text of at most {MAX_TEXT_CHARS} characters.")
    return value


def _matching_text(parsed: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    if not isinstance(parsed[name], str) or not pattern.fullmatch(parsed[name]):
        raise RefusedError(f"{name} does not have the format that agents use.")
    return str(parsed[name])


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise RefusedError(f"{name} is not a count.")
    return value


def _seconds_or_none(parsed: Mapping[str, Any], name: str) -> float | None:
    value = parsed[name]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 2**40:
        raise RefusedError(f"{name} is not a number of seconds.")
    return float(value)


def _time(value: Any) -> datetime:
    if isinstance(value, bool):
        raise RefusedError("t is not a time.")
    try:
        return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise RefusedError("t is not a time.") from None


def _object(parsed: Any, names: set[str], label: str) -> Mapping[str, Any]:
    if not isinstance(parsed, dict) or parsed.keys() != names:
        raise RefusedError(f"{label} must have exactly the fields {', '.join(sorted(names))}.")
    return parsed


def _list(parsed: Mapping[str, Any], name: str, max_items: int) -> Sequence[Any]:
    if not isinstance(parsed[name], list) or len(parsed[name]) > max_items:
        raise RefusedError(f"{name} is not a list of at most {max_items}.")
    return list(parsed[name])


def _field_types(sample_type: type) -> dict[str, type]:
    """Return the type of each sent field: float, int, str or dict."""
    hints = get_type_hints(sample_type)
    names = [field.name for field in fields(sample_type) if field.name not in READER_FIELDS]
    return {name: dict if name == "unknown" else _without_none(hints[name]) for name in names}


def _without_none(hint: Any) -> type:
    """Return `X` of `X | None`."""
    value_type: type = next(member for member in (*get_args(hint), hint) if member is not type(None))
    return value_type


_FIELD_TYPES: Mapping[type, Mapping[str, type]] = {
    sample_type: _field_types(sample_type) for sample_type in (GpuSample, HostSample)
}
