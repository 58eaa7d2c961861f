"""The questions about runs themselves, asked of the store or of the published file alike."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from analysis.runs.run_line import RunLine
from domain import Run
from reasons import Code, Reason
from storage.ask.literals import literal
from storage.ask.queries import Asked
from storage.ask.run_fields import field_lists, fields_that_differ, has_one_of
from storage.ask.statements import statement
from storage.rows import run_of


def runs_of(store: Asked, run_ids: Sequence[str]) -> list[Run]:
    """The runs that have these ids, in the order of the ids; ids that no run has are passed over."""
    found = {run.id: run for run in _ask(store, "runs_of", run_ids=list(run_ids))}
    return [found[run_id] for run_id in run_ids if run_id in found]


def runs_of_batch(store: Asked, batch_id: str) -> list[Run]:
    """The runs that were launched together, a study's for one, in the order of their making."""
    return _ask(store, "runs_of_batch", batch_id=batch_id)


def names_like(store: Asked, names: Collection[str]) -> list[str]:
    """The names of runs that are one of these or numbered on from it: 'name (2)'."""
    taken: list[str] = store.query(statement("names_like"), {"wanted": list(names)})["name"].to_pylist()
    return taken


def runs_named(store: Asked, words: Sequence[str]) -> set[str]:
    """The ids of all runs, live ones too, whose name or id has all these words in lower case."""
    return set(store.query(statement("runs_named"), {"words": list(words)})["id"].to_pylist())


def log_paths(store: Asked) -> dict[str, str]:
    """Where the logs of runs are, by the run, the newest first; a run without a log is not in it."""
    return {row["id"]: row["log_path"] for row in store.query(statement("log_paths"), {}).to_pylist()}


NUMBERS: Mapping[str, str] = {
    "stream": "stream_tps",
    "output": "output_tps",
    "typical": "typical_tps",
    "peak": "peak_tps",
    "tokens_per_step": "tokens_per_step",
    "acceptance": "acceptance_length",
}  # RunFilter.order_by -> the number of a RunLine
_CONFIG = ", ".join(
    f"r.config->>'$.{field}'"
    for field in ("engine", "model", "quantization", "speculative.method", "speculative.num_tokens")
)
TEXTS: Mapping[str, str] = {
    "name": "lower(r.name)",
    "state": "r.state",
    "workload": "r.workload->>'$.name'",
    "config": f"lower(concat_ws(' ', {_CONFIG}))",
}  # likewise -> what it is sorted by, A to Z
STARTED = "coalesce(r.started_at, r.created_at)"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What runs are looked for; an empty filter lets all through. All of the words must be found somewhere."""

    words: tuple[str, ...] = ()  # lower case
    engines: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    marks: tuple[str, ...] = ()  # 'starred', 'archived': those alone; archived ones are found only so
    machines: tuple[str, ...] = ()
    since: datetime | None = None  # started then or later
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of run_fields.FILTERED, each with the texts that pass
    order_by: str = "newest"  # or one of NUMBERS, the highest first, or of TEXTS, A to Z
    is_reversed: bool = False  # what is not known stays last


APART = ("fields", "order_by", "is_reversed")  # of a RunFilter: no arguments of runs_found


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What the runs that have ended can be filtered by, and how many there are."""

    runs: int
    engines: tuple[str, ...]
    workloads: tuple[str, ...]
    kinds: tuple[str, ...]
    tags: tuple[str, ...] = ()  # of any run
    archived: int = 0
    machines: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of run_fields.FILTERED: where they differ


def find_runs(store: Asked, wanted: RunFilter, most: int) -> list[Run]:
    """Runs that have ended, at most so many, in the order asked for; first those of which no line is kept yet."""
    sql = statement("find_runs").format(found=runs_found(wanted), order=_order(wanted))
    return [run_of(row) for row in store.query(sql, {"most": most}).to_pylist()]


def count_runs(store: Asked, wanted: RunFilter) -> int:
    """How many runs that have ended the filter lets through."""
    count: int = store.query(statement("count_runs").format(found=runs_found(wanted)), {})["n"][0].as_py()
    return count


def runs_found(wanted: RunFilter) -> str:
    """The runs that the filter lets through as the source `r` of a SELECT; only what is in force is said."""
    chosen = {one.name: getattr(wanted, one.name) for one in fields(wanted) if one.name not in APART}
    said = ", ".join(f"{name} := {literal(value)}" for name, value in chosen.items() if value)
    conditions = " AND ".join(has_one_of(name, values) for name, values in wanted.fields if values)
    return f"(FROM runs_found({said}) r WHERE {conditions}) r" if conditions else f"runs_found({said}) r"


def _order(wanted: RunFilter) -> str:
    """What find_runs orders by: the rows `r` of raw.runs and what is kept of each as `l`."""
    up, down = ("DESC", "ASC") if wanted.is_reversed else ("ASC", "DESC")
    if wanted.order_by == "newest":
        return f"{STARTED} {down}, r.id {down}"
    newest = f"{STARTED} DESC, r.id DESC"
    if number := NUMBERS.get(wanted.order_by):
        return f"l.run_id IS NULL DESC, l.{number} {down} NULLS LAST, {newest}"
    return f"{TEXTS[wanted.order_by]} {up} NULLS LAST, {newest}"


def run_choices(store: Asked) -> RunChoices:
    """What the runs that have ended can be filtered by, each list sorted; machines that are not known are left out.

    One statement: a config is a long text, and each look at all of them takes tens of milliseconds at 10,000 runs.
    """
    (row,) = store.query(statement("run_choices").format(fields=field_lists()), {}).to_pylist()
    lists = {name: tuple(row[name] or ()) for name in ("engines", "workloads", "kinds", "tags", "machines")}
    return RunChoices(runs=row["runs"], archived=row["archived"], fields=fields_that_differ(row), **lists)


def likely_repeats(store: Asked, runs: Sequence[Run], most: int) -> list[Run]:
    """Finished runs that may repeat one of these: the same configured fingerprint and workload, the newest first."""
    return _ask(
        store,
        "likely_repeats",
        run_ids=[run.id for run in runs],
        fingerprints=[run.config.fingerprint for run in runs],
        workloads=[run.workload.name if run.workload else "" for run in runs],
        most=most,
    )


def same_setting(store: Asked, runs: Sequence[Run], most: int) -> list[Run]:
    """Finished runs of the engine, workload and machine of these: their repeats show how much a start varies."""
    return _ask(
        store,
        "same_setting",
        run_ids=[run.id for run in runs],
        machines=[run.machine_id for run in runs],
        engines=[run.config.engine for run in runs],
        hashes=[run.workload.prompt_set_hash or "-" for run in runs if run.workload],
        most=most,
    )


def compatibility(store: Asked, run_ids: Sequence[str] | None) -> list[dict[str, Any]]:
    """What runs where, by these runs or by all: rows of the view `compatibility`, in the order of their first start."""
    given = None if run_ids is None else list(run_ids)
    rows: list[dict[str, Any]] = store.query(statement("compatibility"), {"run_ids": given}).to_pylist()
    return rows


def runs_of_source(store: Asked, sha256: str) -> list[str]:
    """The ids of the runs whose loads were imported from the file of this hash, the oldest load's first."""
    run_ids: list[str] = store.query(statement("runs_of_source"), {"sha256": sha256})["run_id"].to_pylist()
    return run_ids


def kept_lines(store: Asked, run_ids: Sequence[str], formulas: str) -> dict[str, RunLine]:
    """The lines that are kept of these runs under these formulas, by run; a run that has changed since has none."""
    params = {"run_ids": list(run_ids), "formulas": formulas}
    rows = store.query(statement("kept_lines"), params).to_pylist()
    return {row["run_id"]: _line_of(row) for row in rows}


def runs_without_line(store: Asked, formulas: str, settled: datetime, most: int) -> list[Run]:
    """Runs that ended before `settled` and of which no line is kept under these formulas, the newest first."""
    return _ask(store, "runs_without_line", formulas=formulas, settled=settled, most=most)


def _line_of(row: Mapping[str, Any]) -> RunLine:
    stored = json.loads(row["reason"]) if row["reason"] else None
    reason = stored and Reason(Code(stored["code"]), tuple(stored["run_ids"]), stored["values"])
    return RunLine(**{one.name: row[one.name] for one in fields(RunLine) if one.name != "reason"}, reason=reason)


def _ask(store: Asked, question: str, **params: Any) -> list[Run]:
    return [run_of(row) for row in store.query(statement(question), params).to_pylist()]
