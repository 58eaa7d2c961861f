"""The numbers behind a report as tables: for its page as JSON, for others as CSV and Parquet."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import Ratio
from reports.arms.comparison import named
from reports.arms.report_data import ReportData
from storage.ask.free_sql.formats import as_csv, as_parquet
from storage.sandbox.job import Answer
from web.compare.answer.guard_words import STANDINGS, TITLES, row_words
from web.compare.answer.sentence import sentence
from web.words import Names, why

Row = dict[str, Any]


class DataTable(NamedTuple):
    """One table; every row has the same columns, null is not known."""

    name: str  # of its file, and of its section on the page
    rows: pa.Table


def data_tables(data: ReportData) -> list[DataTable]:
    """Every table of a report that has a row."""
    made = [(name, list(rows(data))) for name, rows in TABLES.items()]
    return [DataTable(name, pa.Table.from_pylist(rows)) for name, rows in made if rows]


def as_zip(tables: Sequence[DataTable]) -> bytes:
    """Each as NAME.csv and NAME.parquet in one archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in table_files(tables).items():
            archive.writestr(name, body)
    return sink.getvalue()


def table_files(tables: Sequence[DataTable]) -> dict[str, bytes]:
    """File name -> its bytes."""
    answers = {one.name: Answer(one.rows, truncated=False, elapsed_ms=0.0) for one in tables}
    csv = {f"{name}.csv": as_csv(answer) for name, answer in answers.items()}
    return csv | {f"{name}.parquet": as_parquet(answer) for name, answer in answers.items()}


def _answers(data: ReportData) -> Iterator[Row]:
    names = named(data.comparison.arms)
    for answer in data.comparison.answers:
        yield _pair(answer) | {"sentence": sentence(answer, names)} | _judged(answer)


def _pair(answer: Comparison) -> Row:
    objective = answer.pair.objective
    arms = {"baseline": answer.pair.baseline.name, "other": answer.pair.other.name}
    return arms | {"objective": objective.name, "unit": objective.terms.unit}


def _judged(answer: Comparison) -> Row:
    judged = answer.judgement if answer.is_ranked else None
    low, high = (judged and judged.interval) or (None, None)
    said = judged.answer.value if judged else "not_comparable" if answer.refused else "no_value"
    return {"answer": said, "ratio": judged and judged.ratio, "low": low, "high": high, "margin": answer.margin}


def _starts(data: ReportData) -> Iterator[Row]:
    """The value of each server start, as each pair of arms was judged by it."""
    by_start: dict[tuple[str, str], Row] = {}
    for answer in data.comparison.answers:
        for arm, side in zip(answer.pair.arms, answer.replicates, strict=True):
            for one in side:
                row = {"arm": arm.name, "run_id": one.run_id, "value": one.value}
                by_start.setdefault((arm.id, one.run_id), row | {"unit": answer.pair.objective.terms.unit})
    yield from by_start.values()


def _parts(data: ReportData) -> Iterator[Row]:
    for answer in data.comparison.answers:
        for part in answer.parts if answer.is_ranked else ():
            yield _pair(answer) | {"prompts": part.ratio.name} | _ratio(part.ratio)


def _factors(data: ReportData) -> Iterator[Row]:
    for answer in data.comparison.answers:
        for factor in answer.factors if answer.is_ranked else ():
            yield _pair(answer) | {"factor": factor.name} | _ratio(factor)


def _rungs(data: ReportData) -> Iterator[Row]:
    for answer in (answer for rung in data.rungs for answer in rung):
        yield _pair(answer) | {"concurrency": answer.pair.objective.concurrency} | _judged(answer)


def _ratio(one: Ratio) -> Row:
    low, high = one.interval or (None, None)
    return {"baseline_value": one.values[0], "other_value": one.values[1], "ratio": one.ratio, "low": low, "high": high}


def _viewpoints(data: ReportData) -> Iterator[Row]:
    """A row a viewpoint and arm."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    for ranking in data.rankings:
        for one in ranking.candidates:
            row = {"viewpoint": ranking.view.title, "arm": arms[one.arm_id], "value": one.value}
            row |= {"unit": ranking.view.unit, "higher_is_better": ranking.view.higher_is_better, "label": one.label}
            said = {"outcome": ranking.outcome.value, "is_best": one.arm_id == ranking.best, "reason": why(one.reason)}
            yield (
                row
                | said
                | {"is_tied": one.arm_id in ranking.tied}
                | {"values": list(one.values), "meaning": ranking.view.meaning}
            )


def _guard(data: ReportData) -> Iterator[Row]:
    names: Names = named(data.comparison.arms)
    for answer in data.comparison.answers:
        for row in answer.rows:
            found = {"row": TITLES[row.code], "standing": STANDINGS[row.standing], "found": row_words(row, names)}
            yield _pair(answer) | found


def _numbers(data: ReportData) -> Iterator[Row]:
    """Every number of every run, a row each."""
    for run in data.runs:
        for what, value in data.metrics[run.id].items():
            row = {"run_id": run.id, "run": run.name, "section": what.section.value, "metric": what.title}
            yield row | {"value": value, "unit": what.unit, "meaning": what.meaning}


def _runs(data: ReportData) -> Iterator[Row]:
    arms = {run.run_id: arm.name for arm in data.comparison.arms for run in arm.runs}
    for one in data.reports:
        run = one.run
        row: Row = {
            "run_id": run.id,
            "run": run.name,
            "arm": arms.get(run.id),
            "kind": run.kind,
            "state": run.state.value,
        }
        row |= {"engine": one.engine_title, "model": run.config.model, "cause": run.cause}
        row |= {"workload": run.workload_names, "started_at": run.started_at}
        yield row | {"ended_at": run.ended_at, "left_out": data.asking.left_out.get(run.id)}


def _notes(data: ReportData) -> Iterator[Row]:
    """What people say, a row a run of which something is said."""
    for run in data.runs:
        note = data.people[run.id].note
        row: Row = {"run_id": run.id, "run": run.name, "note": note.text, "tags": ", ".join(note.tags)}
        row |= {"agentic_feel": note.agentic_feel, "coding": note.coding, "language": note.language}
        if note.version:
            yield row | {"impression": note.impression, "role": note.role, "written_at": note.written_at}


def _gotchas(data: ReportData) -> Iterator[Row]:
    for run in data.runs:
        for one in data.people[run.id].gotchas:
            row = {"run_id": run.id, "failure": one.failure, "cause": one.cause, "flag": one.flag}
            yield row | {"workaround": one.workaround, "link": one.link, "written_at": one.written_at}


def _settings(data: ReportData) -> Iterator[Row]:
    for arm in data.comparison.arms:
        for field, value in arm.runs[0].served.settings.items():
            yield {"arm": arm.name, "field": field, "value": None if value is None else str(value)}


def _windows(data: ReportData) -> Iterator[Row]:
    """The course of each run: what its charts are drawn from."""
    for one in data.reports:
        for w in one.windows:
            row = {"run_id": one.run.id, "since_ready_s": w.since_ready_s, "dt_s": w.dt_s, "activity": w.activity}
            row |= {"decode_tps": w.decode_tps, "tokens_per_step": w.tokens_per_step, "steps_per_s": w.steps_per_s}
            yield row | {"requests_running": w.requests_running, "definition": w.definition}


TABLES: Mapping[str, Callable[[ReportData], Iterator[Row]]] = {
    "answers": _answers,
    "starts": _starts,
    "kinds-of-prompt": _parts,
    "factors": _factors,
    "concurrencies": _rungs,
    "viewpoints": _viewpoints,
    "guard": _guard,
    "numbers": _numbers,
    "settings": _settings,
    "runs": _runs,
    "notes": _notes,
    "gotchas": _gotchas,
    "windows": _windows,
}
