"""Queries for runs and run lists, for the store or the published file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from analysis.metrics.registry import LIST_COLUMNS, LISTED
from analysis.runs.printed_speed import PrintedSpeed
from analysis.runs.run_line import RunLine, ToolStatement
from domain import Run
from reasons import Code, Reason
from storage.queries.literals import literal
from storage.queries.run_data import Queryable
from storage.queries.run_fields import field_lists, fields_that_differ, has_one_of
from storage.queries.statements import statement
from storage.rows import run_of


def runs_of(store: Queryable, run_ids: Sequence[str]) -> list[Run]:
    """Return the runs with these ids, in the order of the ids; unknown ids are skipped."""
    runs_by_id = {run.id: run for run in _ask(store, "runs_of", run_ids=list(run_ids))}
    return [runs_by_id[run_id] for run_id in run_ids if run_id in runs_by_id]


def runs_of_batch(store: Queryable, batch_id: str) -> list[Run]:
    """Return the runs launched together, such as those of a study, in the order of their creation."""
    return _ask(store, "runs_of_batch", batch_id=batch_id)


def names_like(store: Queryable, names: Collection[str]) -> list[str]:
    """Return the names of runs that equal one of these or extend it by a number: 'name (2)'."""
    matches: list[str] = store.query(statement("names_like"), {"wanted": list(names)})["name"].to_pylist()
    return matches


def runs_named(store: Queryable, words: Sequence[str]) -> set[str]:
    """Return the ids of all runs, live or ended, whose name or id contains all these lower-case words."""
    return set(store.query(statement("runs_named"), {"words": list(words)})["id"].to_pylist())


def log_paths(store: Queryable) -> dict[str, str]:
    """Return the log path of each run with a log, newest first."""
    return {row["id"]: row["log_path"] for row in store.query(statement("log_paths"), {}).to_pylist()}


_CONFIG = ", ".join(
    f"r.config->>'$.{field}'"
    for field in ("engine", "model", "quantization", "speculative.method", "speculative.num_tokens")
)
SORT_TEXTS: Mapping[str, str] = {
    "name": "lower(r.name)",
    "state": "shown_state_of(r.state, r.kind, r.started_at, r.ended_at)",
    "workload": "r.workload->>'$.name'",
    "config": f"lower(concat_ws(' ', {_CONFIG}))",
}  # sort key -> SQL, A to Z
STARTED_SQL = "coalesce(r.started_at, r.created_at)"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs; an empty filter passes all. A run must contain all of the words."""

    words: tuple[str, ...] = ()  # lower case
    engines: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    marks: tuple[str, ...] = ()  # 'starred', 'archived': only those; archived runs need the mark
    machines: tuple[str, ...] = ()
    since: datetime | None = None  # started then or later
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of run_fields.FILTER_FIELDS, each with the texts that pass
    order_by: str = "newest"  # or a name of LIST_COLUMNS, the highest first, or of SORT_TEXTS, A to Z
    is_reversed: bool = False  # unknown values stay last


NON_ARGUMENTS = (
    "fields",
    "order_by",
    "is_reversed",
)  # fields of RunFilter that are not arguments of the macro runs_found


@dataclass(frozen=True, slots=True)
class RunChoices:
    """The filter choices of ended runs, and their number."""

    runs: int
    engines: tuple[str, ...]
    workloads: tuple[str, ...]
    kinds: tuple[str, ...]
    tags: tuple[str, ...] = ()  # of any run
    archived: int = 0
    machines: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # of run_fields.FILTER_FIELDS, if the runs differ


def find_runs(store: Queryable, run_filter: RunFilter, limit: int) -> list[Run]:
    """Return at most `limit` ended runs in the filter's order; those without a cached line come first."""
    sql = statement("find_runs").format(found=filtered_runs_sql(run_filter), order=_order(run_filter))
    return [run_of(row) for row in store.query(sql, {"most": limit}).to_pylist()]


def count_runs(store: Queryable, run_filter: RunFilter) -> int:
    """Return the number of ended runs that pass the filter."""
    count: int = store.query(statement("count_runs").format(found=filtered_runs_sql(run_filter)), {})["n"][0].as_py()
    return count


def filtered_runs_sql(run_filter: RunFilter) -> str:
    """SQL for the runs that pass the filter, as the source `r` of a SELECT; only active filters are written."""
    filter_values = {
        item.name: getattr(run_filter, item.name) for item in fields(run_filter) if item.name not in NON_ARGUMENTS
    }
    arguments = ", ".join(f"{name} := {literal(value)}" for name, value in filter_values.items() if value)
    conditions = " AND ".join(has_one_of(name, values) for name, values in run_filter.fields if values)
    return f"(FROM runs_found({arguments}) r WHERE {conditions}) r" if conditions else f"runs_found({arguments}) r"


def _order(run_filter: RunFilter) -> str:
    """The ORDER BY of find_runs over `r` (raw.runs) and `l` (cached lines)."""
    up, down = ("DESC", "ASC") if run_filter.is_reversed else ("ASC", "DESC")
    if run_filter.order_by == "newest":
        return f"{STARTED_SQL} {down}, r.id {down}"
    newest = f"{STARTED_SQL} DESC, r.id DESC"
    if metric := LIST_COLUMNS.get(run_filter.order_by):
        number = f"l.{metric.key}"  # imported numbers follow measured ones, and unknown ones are last
        return f"l.run_id IS NULL DESC, {number} IS NULL, r.kind = 'imported', {number} {down}, {newest}"
    return f"{SORT_TEXTS[run_filter.order_by]} {up} NULLS LAST, {newest}"


def run_choices(store: Queryable) -> RunChoices:
    """Return the filter choices of ended runs, each list sorted; unknown machines are left out.

    One statement, because each pass over all configs takes tens of milliseconds with 10,000 runs.
    """
    (row,) = store.query(statement("run_choices").format(fields=field_lists()), {}).to_pylist()
    lists = {name: tuple(row[name] or ()) for name in ("engines", "workloads", "kinds", "tags", "machines")}
    return RunChoices(runs=row["runs"], archived=row["archived"], fields=fields_that_differ(row), **lists)


def likely_repeats(store: Queryable, runs: Sequence[Run], limit: int) -> list[Run]:
    """Return finished runs that may repeat one of these: same fingerprint and workload, newest first."""
    return _ask(
        store,
        "likely_repeats",
        run_ids=[run.id for run in runs],
        fingerprints=[run.config.fingerprint for run in runs],
        workloads=[run.workload.name if run.workload else "" for run in runs],
        most=limit,
    )


def same_setting(store: Queryable, runs: Sequence[Run], limit: int) -> list[Run]:
    """Return finished runs with the engine, workload and machine of these, whose repeats show the spread of starts."""
    return _ask(
        store,
        "same_setting",
        run_ids=[run.id for run in runs],
        machines=[run.machine_id for run in runs],
        engines=[run.config.engine for run in runs],
        hashes=[run.workload.prompt_set_hash or "-" for run in runs if run.workload],
        most=limit,
    )


def compatibility(store: Queryable, run_ids: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return rows of the view `compatibility` for these runs or for all, in the order of their first start."""
    ids = None if run_ids is None else list(run_ids)
    rows: list[dict[str, Any]] = store.query(statement("compatibility"), {"run_ids": ids}).to_pylist()
    return rows


def runs_of_source(store: Queryable, sha256: str) -> list[str]:
    """Return the ids of runs whose loads were imported from the file with this hash, by the age of the load."""
    run_ids: list[str] = store.query(statement("runs_of_source"), {"sha256": sha256})["run_id"].to_pylist()
    return run_ids


def cached_lines(store: Queryable, run_ids: Sequence[str], formulas: str) -> dict[str, RunLine]:
    """Return the cached lines of these runs under these formulas by run; a run that has changed since has none."""
    params = {"run_ids": list(run_ids), "formulas": formulas}
    rows = store.query(statement("cached_lines"), params).to_pylist()
    return {row["run_id"]: _line_of(row) for row in rows}


def runs_without_line(store: Queryable, formulas: str, ended_before: datetime, limit: int) -> list[Run]:
    """Return runs that ended before `ended_before` and have no cached line under these formulas, newest first."""
    return _ask(store, "runs_without_line", formulas=formulas, settled=ended_before, most=limit)


def ended_since(store: Queryable, since: datetime, limit: int) -> list[Run]:
    """Return the runs that ended after a time, the newest end first."""
    return _ask(store, "ended_since", since=since, most=limit)


def state_counts(store: Queryable) -> dict[str, int]:
    """Return the number of stored runs by their state; states without runs are left out."""
    return {row["state"]: row["n"] for row in store.query(statement("state_counts"), {}).to_pylist()}


def _line_of(row: Mapping[str, Any]) -> RunLine:
    stored = json.loads(row["reason"]) if row["reason"] else None
    reason = stored and Reason(Code(stored["code"]), tuple(stored["run_ids"]), stored["values"])
    numbers = {metric.key: value for metric in LISTED if (value := row[metric.key]) is not None}
    has_printed = row["printed_tps"] is not None
    printed = PrintedSpeed(row["printed_definition"], row["printed_tps"], row["printed_lines"]) if has_printed else None
    return RunLine(numbers, reason, printed, ToolStatement(**json.loads(row["stated"])) if row["stated"] else None)


def _ask(store: Queryable, name: str, **params: Any) -> list[Run]:
    return [run_of(row) for row in store.query(statement(name), params).to_pylist()]
