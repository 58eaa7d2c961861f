"""Samples and runs as Arrow tables in the shape of the raw tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from domain import Run
from load_records import (
    Accuracy,
    AccuracyItem,
    FidelityPosition,
    Load,
    LoadCounters,
    LoadPhase,
    RequestRecord,
    Result,
    SuiteCheck,
)
from samples import (
    AgentPosition,
    CollectorHealth,
    CounterSample,
    Event,
    GpuSample,
    HostSample,
    LatencySample,
    LogSample,
    Sample,
    SlotSample,
    TailPosition,
)

SAMPLE_TABLES: Mapping[type[Sample], str] = {
    CounterSample: "counter_samples",
    LatencySample: "latency_samples",
    SlotSample: "slot_samples",
    LogSample: "log_samples",
    GpuSample: "gpu_samples",
    HostSample: "host_samples",
    RequestRecord: "requests",
    Load: "loads",
    LoadPhase: "load_phases",
    LoadCounters: "load_counters",
    Result: "results",
    SuiteCheck: "checks",
    Accuracy: "accuracy",
    AccuracyItem: "accuracy_items",
    FidelityPosition: "fidelity",
    Event: "events",
    CollectorHealth: "collector_health",
}
TIME_COLUMNS: Mapping[str, str] = {name: "sent_at" if name == "requests" else "ts" for name in SAMPLE_TABLES.values()}
ROW_TABLES: Mapping[type[Any], str] = {**SAMPLE_TABLES, TailPosition: "tail_positions", AgentPosition: "agents"}
ARROW_TYPES: Mapping[type, pa.DataType] = {
    str: pa.string(),
    float: pa.float64(),
    int: pa.int64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}
LISTS: Mapping[Any, pa.DataType] = {list[float]: pa.list_(pa.float64()), list[int]: pa.list_(pa.int32())}
UNSIGNED: Mapping[str, pa.DataType] = {"inode": pa.uint64()}  # overlay file systems use the highest bits


def _arrow_type(hint: Any) -> pa.DataType:
    """The Arrow type of a field; dicts and lists of strings become JSON, `X | None` becomes X: columns are nullable."""
    arms = (hint,) if hint in LISTS else get_args(hint) or (hint,)
    types = [arm for arm in arms if arm is not type(None)]
    lists = [LISTS[arm] for arm in types if arm in LISTS]
    if lists:
        return lists[0]
    return ARROW_TYPES.get(types[0], pa.string())


def _arrow_schema(row_type: type[Any]) -> pa.Schema:
    """The columns of a row type in the order of its fields."""
    hints = get_type_hints(row_type)
    return pa.schema([(f.name, UNSIGNED.get(f.name) or _arrow_type(hints[f.name])) for f in fields(row_type)])


ARROW_SCHEMAS: Mapping[type[Any], pa.Schema] = {row_type: _arrow_schema(row_type) for row_type in ROW_TABLES}


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as None, which JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _json_text(value: Any) -> str:
    """JSON with lone surrogates as they are, not as escapes, which DuckDB refuses; `_column` replaces them."""
    return json.dumps(_finite(value), allow_nan=False, ensure_ascii=False)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """One column; lone surrogates from logs or servers are replaced, because UTF-8 cannot hold them."""
    if not pa.types.is_string(kind):
        return pa.array(values, kind)
    texts = [_json_text(value) if isinstance(value, dict | list) else value for value in values]
    return pa.array([t if t is None else t.encode("utf-8", "replace").decode() for t in texts], kind)


def arrow_table(row_type: type[Any], rows: Iterable[Any]) -> pa.Table:
    """Rows of one type as a table; raises TypeError, ValueError or pa.ArrowInvalid for a value of the wrong type."""
    schema, listed = ARROW_SCHEMAS[row_type], list(rows)
    columns = [
        _column([getattr(row, name) for row in listed], kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def tables_of(rows: Iterable[Any]) -> dict[str, pa.Table]:
    """Rows of mixed types, grouped by raw table."""
    groups: dict[type[Any], list[Any]] = {}
    for row in rows:
        groups.setdefault(type(row), []).append(row)
    return {ROW_TABLES[row_type]: arrow_table(row_type, group) for row_type, group in groups.items()}


def _run_schema() -> pa.Schema:
    hints = get_type_hints(Run)
    typed = [(name, _arrow_type(hints[name])) for name in Run.model_fields]
    return pa.schema([*typed, ("fingerprint", pa.string())])


RUN_SCHEMA = _run_schema()
JSON_FIELDS = ("config", "workload", "later_workloads", "provenance", "logged_facts")


def run_table(run: Run) -> pa.Table:
    """One run as one row; `fingerprint` is computed here because SQL cannot."""
    record = run.model_dump() | {
        "config": run.config.model_dump(mode="json"),
        "workload": run.workload and run.workload.model_dump(mode="json"),
        "later_workloads": [workload.model_dump(mode="json") for workload in run.later_workloads] or None,
        "state": run.state.value,
        "fingerprint": run.config.fingerprint,
    }
    columns = [_column([record[name]], kind) for name, kind in zip(RUN_SCHEMA.names, RUN_SCHEMA.types, strict=True)]
    return pa.Table.from_arrays(columns, schema=RUN_SCHEMA)


def run_of(record: Mapping[str, Any]) -> Run:
    """The run that a row of raw.runs holds."""
    values = {name: record[name] for name in Run.model_fields}
    decoded = {key: json.loads(values[key]) for key in JSON_FIELDS if values[key] is not None}
    return Run.model_validate(values | {"later_workloads": ()} | decoded)
