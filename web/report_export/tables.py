"""The data tables of a report: embedded as JSON in its page, and exported as CSV and Parquet."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from analysis.compare_arms import ArmComparison
from analysis.loads.agent_tasks import SolvedDifference
from analysis.loads.fidelity import Fidelity
from analysis.loads.paired_accuracy import PairedDifference
from analysis.verdict import Ratio
from reports.arms.accuracy import AccuracyComparison
from reports.arms.comparison import run_names
from reports.arms.report_data import ReportData
from storage.sandbox.job import SqlAnswer
from storage.user_sql.formats import as_csv, as_parquet
from web.compare.answer.fidelity_table import measured_fidelities
from web.compare.answer.guard_words import STANDING_LABELS, TITLES, row_text
from web.compare.answer.sentence import answer_sentence
from web.metric_words import meaning_of
from web.words import Names, reason_text

Row = dict[str, Any]


class DataTable(NamedTuple):
    """One table; all rows have the same columns, and null means unknown."""

    name: str  # of its file, and of its section on the page
    rows: pa.Table


def data_tables(data: ReportData) -> list[DataTable]:
    """Return the non-empty tables of a report."""
    rows_by_name = [(name, list(rows(data))) for name, rows in TABLES.items()]
    return [DataTable(name, pa.Table.from_pylist(rows)) for name, rows in rows_by_name if rows]


def as_zip(tables: Sequence[DataTable]) -> bytes:
    """Return a zip of NAME.csv and NAME.parquet per table."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in table_files(tables).items():
            archive.writestr(name, body)
    return sink.getvalue()


def table_files(tables: Sequence[DataTable]) -> dict[str, bytes]:
    """Return file name -> content."""
    answers = {table.name: SqlAnswer(table.rows, truncated=False, elapsed_ms=0.0) for table in tables}
    csv = {f"{name}.csv": as_csv(answer) for name, answer in answers.items()}
    return csv | {f"{name}.parquet": as_parquet(answer) for name, answer in answers.items()}


def _answers(data: ReportData) -> Iterator[Row]:
    names = run_names(data.comparison.arms)
    for answer in data.comparison.answers:
        yield _pair(answer) | {"sentence": answer_sentence(answer, names)} | _judgement_row(answer)


def _pair(answer: ArmComparison) -> Row:
    objective = answer.pair.objective
    arms = {"baseline": answer.pair.baseline.name, "other": answer.pair.contender.name}
    return arms | {"objective": objective.name, "unit": objective.terms.unit}


def _judgement_row(answer: ArmComparison) -> Row:
    judgement = answer.judgement if answer.is_ranked else None
    low, high = (judgement and judgement.interval) or (None, None)
    answer_code = judgement.answer.value if judgement else "not_comparable" if answer.refused else "no_value"
    return {
        "answer": answer_code,
        "ratio": judgement and judgement.ratio,
        "low": low,
        "high": high,
        "margin": answer.margin,
    }


def _starts(data: ReportData) -> Iterator[Row]:
    """The value of each server start that the answers are based on."""
    by_start: dict[tuple[str, str], Row] = {}
    for answer in data.comparison.answers:
        for arm, side in zip(answer.pair.arms, answer.replicates, strict=True):
            for replicate in side:
                row = {"arm": arm.name, "run_id": replicate.run_id, "value": replicate.value}
                by_start.setdefault((arm.id, replicate.run_id), row | {"unit": answer.pair.objective.terms.unit})
    yield from by_start.values()


def _parts(data: ReportData) -> Iterator[Row]:
    for answer in data.comparison.answers:
        for part in answer.classes if answer.is_ranked else ():
            yield _pair(answer) | {"prompts": part.ratio.name} | _ratio(part.ratio)


def _factors(data: ReportData) -> Iterator[Row]:
    for answer in data.comparison.answers:
        for factor in answer.factors if answer.is_ranked else ():
            yield _pair(answer) | {"factor": factor.name, "finding": factor.finding.value} | _ratio(factor)


def _rungs(data: ReportData) -> Iterator[Row]:
    for answer in (answer for rung in data.rungs for answer in rung):
        yield _pair(answer) | {"concurrency": answer.pair.objective.concurrency} | _judgement_row(answer)


def _ratio(ratio: Ratio) -> Row:
    low, high = ratio.interval or (None, None)
    return {
        "baseline_value": ratio.values[0],
        "other_value": ratio.values[1],
        "ratio": ratio.ratio,
        "low": low,
        "high": high,
    }


def _viewpoints(data: ReportData) -> Iterator[Row]:
    """One row per viewpoint and arm."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    for ranking in data.rankings:
        for candidate in ranking.candidates:
            row = {"viewpoint": ranking.view.title, "arm": arms[candidate.arm_id], "value": candidate.value}
            row |= {
                "unit": ranking.view.unit,
                "higher_is_better": ranking.view.higher_is_better,
                "label": candidate.label,
            }
            verdict = {
                "outcome": ranking.outcome.value,
                "is_best": candidate.arm_id == ranking.best,
                "reason": reason_text(candidate.reason),
            }
            yield (
                row
                | verdict
                | {"is_tied": candidate.arm_id in ranking.tied}
                | {"values": list(candidate.values), "meaning": ranking.view.meaning}
            )


def _guard(data: ReportData) -> Iterator[Row]:
    names: Names = run_names(data.comparison.arms)
    for answer in data.comparison.answers:
        for row in answer.rows:
            finding = {"row": TITLES[row.code], "standing": STANDING_LABELS[row.status], "found": row_text(row, names)}
            yield _pair(answer) | finding


def _numbers(data: ReportData) -> Iterator[Row]:
    """One row per run and number."""
    for run in data.runs:
        for metric, value in data.metrics[run.id].items():
            definition = metric.definition
            row: Row = {"run_id": run.id, "run": run.name, "section": definition.section.value, "metric": metric.title}
            row |= {"value": value.value, "unit": definition.unit, "meaning": meaning_of(metric)}
            yield row | {
                "key": metric.key,
                "concurrency": metric.concurrency,
                "reason": reason_text(value.reason) if value.value is None else None,
            }


def _accuracy(data: ReportData) -> Iterator[Row]:
    """One row per task and arm that is compared with the first; `lost` and `won` count items right in one alone."""
    for row in data.accuracies:
        for comparison in row.comparisons.values():
            yield {"task": row.title, "arm": comparison.arm.name} | accuracy_fields(comparison)


def accuracy_fields(comparison: AccuracyComparison) -> Row:
    """Return the fields of one comparison; accuracies in per cent, differences in percentage points."""
    tested, (base, value) = comparison.difference, (comparison.baseline.value, comparison.accuracy.value)
    items = tested.items if isinstance(tested, PairedDifference) else None
    counts = [count.n for count in tested.counts] if isinstance(tested, SolvedDifference) else [items and items.n] * 2
    return {
        "baseline_value": None if base is None else 100 * base,
        "value": None if value is None else 100 * value,
        "points": comparison.points,
        "low": tested and tested.low,
        "high": tested and tested.high,
        "baseline_n": counts[0],
        "n": counts[1],
        "lost": items and items.lost,
        "won": items and items.won,
        "p_value": tested and tested.p_value,
        "is_ranked": comparison.is_ranked,
        "reason": reason_text(comparison.reason),
    }


def _results(data: ReportData) -> Iterator[Row]:
    """One row per published table, row and arm."""
    for published in data.published_tables:
        for row in published.rows:
            for arm, cell in zip(published.arms, row.cells, strict=True):
                fields: Row = {"table": published.title, "row": row.title, "unit": row.unit, "arm": arm}
                difference = cell.difference
                yield fields | {
                    "value": cell.value,
                    "sd": cell.sd,
                    "difference": difference and difference.value,
                    "is_points": difference and difference.is_points,
                    "low": difference and difference.low,
                    "high": difference and difference.high,
                    "is_ranked": difference and difference.is_ranked,
                }


def _runs(data: ReportData) -> Iterator[Row]:
    arms = {run.run_id: arm.name for arm in data.comparison.arms for run in arm.runs}
    for report in data.reports:
        run = report.run
        row: Row = {
            "run_id": run.id,
            "run": run.name,
            "arm": arms.get(run.id),
            "kind": run.kind,
            "state": run.shown_state,
        }
        row |= {"engine": report.engine_title, "model": run.config.model, "cause": run.cause}
        row |= {"workload": run.workload_names, "started_at": run.started_at}
        yield row | {"ended_at": run.ended_at, "left_out": data.options.left_out.get(run.id)}


def _notes(data: ReportData) -> Iterator[Row]:
    """One row per run with a note."""
    for run in data.runs:
        note = data.people[run.id].note
        row: Row = {"run_id": run.id, "run": run.name, "note": note.text, "tags": ", ".join(note.tags)}
        row |= {"agentic_feel": note.agentic_feel, "coding": note.coding, "language": note.language}
        if note.version:
            yield row | {"impression": note.impression, "role": note.role, "written_at": note.written_at}


def _gotchas(data: ReportData) -> Iterator[Row]:
    for run in data.runs:
        for gotcha in data.people[run.id].gotchas:
            row = {"run_id": run.id, "failure": gotcha.failure, "cause": gotcha.cause, "flag": gotcha.flag}
            yield row | {"workaround": gotcha.workaround, "link": gotcha.link, "written_at": gotcha.written_at}


def _settings(data: ReportData) -> Iterator[Row]:
    for arm in data.comparison.arms:
        for field, value in arm.runs[0].served.settings.items():
            yield {"arm": arm.name, "field": field, "value": None if value is None else str(value)}


def _windows(data: ReportData) -> Iterator[Row]:
    """The windows of each run, from which its charts are drawn."""
    for report in data.reports:
        for window in report.windows:
            row = {
                "run_id": report.run.id,
                "since_ready_s": window.since_ready_s,
                "dt_s": window.dt_s,
                "activity": window.activity,
            }
            row |= {
                "decode_tps": window.decode_tps,
                "tokens_per_step": window.tokens_per_step,
                "steps_per_s": window.steps_per_s,
            }
            yield row | {"requests_running": window.requests_running, "definition": window.definition}


def _fidelity(data: ReportData) -> Iterator[Row]:
    """One row per arm whose answers were compared with the first arm's."""
    for measured in measured_fidelities(data.comparison.answers):
        yield {"arm": measured.arm_name} | fidelity_fields(measured.fidelity)


def fidelity_fields(fidelity: Fidelity) -> Row:
    """Return the fields of one arm; shares are 0..1, divergences nats."""
    floor, loss, greedy = fidelity.floor, fidelity.loss, fidelity.unchanged_greedy
    return {
        "answer": fidelity.answer.value,
        "texts": fidelity.agreement.texts,
        "agreement": fidelity.agreement.value,
        "agreement_low": fidelity.agreement.low,
        "agreement_high": fidelity.agreement.high,
        "floor": floor and floor.value,
        "loss": loss and loss.value,
        "loss_low": loss and loss.low,
        "loss_high": loss and loss.high,
        "divergence_nats": fidelity.divergence_nats.value,
        "floor_divergence_nats": fidelity.floor_divergence_nats and fidelity.floor_divergence_nats.value,
        "text_logprob_change": fidelity.text_logprob_change and fidelity.text_logprob_change.value,
        "unchanged_greedy": greedy and greedy.value,
        "first_difference_token": fidelity.first_difference_token,
        "recomputed_ratio": fidelity.recomputed_ratio,
    }


TABLES: Mapping[str, Callable[[ReportData], Iterator[Row]]] = {
    "answers": _answers,
    "starts": _starts,
    "kinds-of-prompt": _parts,
    "factors": _factors,
    "concurrencies": _rungs,
    "viewpoints": _viewpoints,
    "guard": _guard,
    "results": _results,
    "accuracy": _accuracy,
    "fidelity": _fidelity,
    "numbers": _numbers,
    "settings": _settings,
    "runs": _runs,
    "notes": _notes,
    "gotchas": _gotchas,
    "windows": _windows,
}
