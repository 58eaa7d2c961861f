"""`./pitwall compare RUN...`: prints the answer of the Compare page in a terminal."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.exit_status import DONE, NOT_COMPARABLE, NOT_KNOWN, WORSE
from reasons import Reason, write_reasons

if TYPE_CHECKING:
    from analysis.compare_arms import ArmComparison
    from analysis.verdict import FactorEffect, Ratio
    from reports.arms.accuracy import AccuracyRow
    from reports.arms.comparison import ComparisonOptions, ComparisonReport
    from reports.arms.viewpoints import ViewpointInputs
    from settings import Settings
    from web.compare.answer.part_table import Rungs
    from web.words import Names


FAILURES = {"worse": WORSE, "not-comparable": NOT_COMPARABLE, "unknown": NOT_KNOWN}  # in order of precedence
ANSWERS = {  # what `--json` calls them
    "worse": {"worse"},
    "not-comparable": {"not_comparable", "no_value"},
    "unknown": {"unknown", "seen_once", "different"},
}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall compare` and its flags to the parser."""
    help_text = "print which run is faster, by how much and why, and whether the runs are comparable"
    command = commands.add_parser("compare", help=help_text, description=help_text)
    command.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; repeats of one configuration are found")
    command.add_argument("--objective", metavar="NAME", help="what to compare by: decode_tps, output_tps@8, ttft_ms@1")
    command.add_argument(
        "--declare",
        action="append",
        default=[],
        metavar="ROW",
        help="difference compared on purpose: model, sampling, hardware or gpu_limits",
    )
    command.add_argument("--margin", metavar="SHARE", help="smallest relevant difference: '2%%' (default) or '0.02'")
    command.add_argument(
        "--claim", metavar="RATIO", help="check a claimed ratio to the baseline, such as 2x, against the measurement"
    )
    command.add_argument("--workload", metavar="NAME", help="workload to compare, if the runs share several")
    command.add_argument(
        "--fail-if",
        action="append",
        default=[],
        choices=list(FAILURES),
        metavar="ANSWER",
        help="exit with 4 if an arm is worse than the first, 5 if not-comparable, 3 if unknown; may be repeated",
    )
    command.add_argument("--viewpoints", action="store_true", help="also the best by every viewpoint")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


class ComparisonReading(NamedTuple):
    """A comparison with what the command and the answers for programs say beside the report."""

    report: ComparisonReport
    rungs: Rungs
    accuracies: Sequence[AccuracyRow]
    depths: Sequence[str]
    viewpoints: Sequence[dict[str, str]] | None  # None: not requested
    claimed_ratio: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`, `POST /api/compare` and the MCP server."""
        fields = as_json(self.report, self.rungs, self.claimed_ratio)
        fields |= {"accuracy": _accuracy_fields(self.accuracies), "depths": list(self.depths)}
        fields |= {"fidelity": _fidelity_fields(self.report)}
        return fields if self.viewpoints is None else fields | {"viewpoints": list(self.viewpoints)}

    def as_text(self) -> str:
        """Return the answer as the command prints it."""
        views = (": ".join(_view_text(view)) for view in self.viewpoints or ())
        lines = [*_accuracy_lines(self.accuracies), *self.depths, *_fidelity_lines(self.report), *views]
        return "\n\n".join([as_text(self.report, self.rungs, self.claimed_ratio), *lines])


class ComparisonWords(NamedTuple):
    """What a comparison is asked for, as the words of a command line or of a request."""

    runs: Sequence[str]
    objective: str | None = None
    declare: Sequence[str] = ()
    margin: str | None = None
    claim: str | None = None
    workload: str | None = None
    viewpoints: bool = False


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison. Raises PitwallError for an unknown id, a single arm or an option that cannot be read.

    With --fail-if, return the status of the first of these answers that an arm has.
    """
    from settings import load_settings

    words = ComparisonWords(**{name: getattr(arguments, name) for name in ComparisonWords._fields})
    reading = read_comparison(load_settings(), words)
    print(json.dumps(reading.as_json(), allow_nan=False) if arguments.json else reading.as_text())
    answers = {_answer_name(answer) for answer in reading.report.answers}
    return next((FAILURES[name] for name in FAILURES if name in arguments.fail_if and answers & ANSWERS[name]), DONE)


def read_comparison(settings: Settings, words: ComparisonWords) -> ComparisonReading:
    """Compare runs of the published file. Raises PitwallError with a sentence, as for an unknown id or a single arm."""
    from analysis.claims.own_runs import parse_claim
    from errors import PitwallError
    from reports.arms.accuracy import accuracy_rows, read_item_pairs
    from reports.arms.comparison import comparison_of, rung_answers
    from reports.arms.depth_claims import suite_depths
    from reports.arms.viewpoints import viewpoint_inputs
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.load_queries import outcomes
    from storage.queries.run_queries import runs_of
    from web.compare.answer.accuracy_table import depth_lines

    claimed_ratio = parse_claim(words.claim) if words.claim else None
    with published_query(settings.published_path) as query:
        store = PublishedStore(query)
        runs = runs_of(store, words.runs)
        if unknown := [run_id for run_id in words.runs if run_id not in {run.id for run in runs}]:
            raise PitwallError(f"There is no run {', '.join(unknown)}.")
        report = comparison_of(store, runs, _options(words))
        if len(report.arms) < 2:
            raise PitwallError("These runs repeat one configuration: a comparison needs two.")
        rungs = rung_answers(report)
        inputs = viewpoint_inputs(store, report, runs, settings.prices_path) if words.viewpoints else None
        load_outcomes = outcomes(store, [run.run_id for arm in report.arms for run in arm.runs])
        accuracies = accuracy_rows(report, load_outcomes, read_item_pairs(store, report.arms, load_outcomes))
        depths = depth_lines(report.arms, suite_depths(report.arms))
    views = viewpoint_rows(inputs) if inputs else None
    return ComparisonReading(report, rungs, accuracies, depths, views, claimed_ratio)


def _accuracy_fields(rows: Sequence[AccuracyRow]) -> list[dict[str, Any]]:
    """Return one object per task and arm with an accuracy, compared with the first arm's on the same items."""
    from web.report_export.tables import accuracy_fields

    return [
        {"task": row.title, "other": comparison.arm.name} | accuracy_fields(comparison)
        for row in rows
        for comparison in row.comparisons.values()
    ]


def _accuracy_lines(rows: Sequence[AccuracyRow]) -> list[str]:
    """Return 'Accuracy, mmlu_pro: B, -2.3 points (-2.9 to -1.7), ...' per task and arm."""
    from web.compare.answer.accuracy_table import difference_text

    return [
        f"Accuracy, {row.title}: {comparison.arm.name}, {difference_text(comparison)}"
        for row in rows
        for comparison in row.comparisons.values()
    ]


def _fidelity_fields(report: ComparisonReport) -> list[dict[str, Any]]:
    """Return one object per arm whose answers were compared with the first arm's."""
    from web.compare.answer.fidelity_table import measured_fidelities
    from web.report_export.tables import fidelity_fields

    measured = measured_fidelities(report.answers)
    return [{"other": arm.arm_name} | fidelity_fields(arm.fidelity) for arm in measured]


def _fidelity_lines(report: ComparisonReport) -> list[str]:
    """Return 'Same answers, B: same first choice 97.9 % (97.1 to 98.5), ...' per arm."""
    from web.compare.answer.fidelity_table import HEAD, fidelity_cells, measured_fidelities
    from web.words import lower_first

    return [
        f"Same answers, {cells[0]}: "
        + ", ".join(f"{lower_first(head)} {cell}" for head, cell in zip(HEAD[1:], cells[1:], strict=True))
        for cells in fidelity_cells(measured_fidelities(report.answers))
    ]


def viewpoint_rows(inputs: ViewpointInputs) -> list[dict[str, str]]:
    """Return the rows of Compare's viewpoint table, each as column -> text."""
    from reports.arms.viewpoints import rankings
    from web.compare.viewpoints.viewpoint_table import HEAD, viewpoint_lines

    arms = {arm.id: arm.name for arm in inputs.arms}
    lines = viewpoint_lines(rankings(inputs), arms)
    return [dict(zip(HEAD, line[: len(HEAD)], strict=True)) for line in lines]


def _view_text(view: dict[str, str]) -> tuple[str, str]:
    """Return 'Time to first token', 'A, 45 ms; runner-up B, 57 ms; ...', without empty columns."""
    title, best, *other_columns = view.items()
    return title[1], "; ".join([best[1], *(f"{name.lower()} {text}" for name, text in other_columns if len(text) > 1)])


def _options(words: ComparisonWords) -> ComparisonOptions:
    from analysis.evidence.objectives import parse_objective
    from analysis.guard import DECLARABLE, RowCode
    from analysis.verdict import MARGIN, parse_margin
    from errors import PitwallError
    from reports.arms.comparison import ComparisonOptions

    names = {code.value: code for code in RowCode if code in DECLARABLE}
    if unknown_words := [word for word in words.declare if word not in names]:
        raise PitwallError(f"{unknown_words[0]!r} cannot be declared: use one of {', '.join(names)}.")
    objective = parse_objective(words.objective) if words.objective else None
    margin = parse_margin(words.margin) if words.margin else MARGIN
    declared = frozenset(names[word] for word in words.declare)
    return ComparisonOptions(objective, declared, margin=margin, workload=words.workload)


def as_text(report: ComparisonReport, rungs: Rungs, claimed_ratio: float | None = None) -> str:
    """Return one block per arm: sentence, values, classes or rungs, factors, and guard rows that are not 'same'."""
    from reports.arms.comparison import run_names
    from web.compare.answer.overview import has_overview, overview_sentence
    from web.compare.answer.report_notes import report_notes
    from web.compare.sources.claim_words import claim_text

    names = run_names(report.arms)
    heads = [f"Compared by {report.objective.title}. {report.objective.terms.meaning}.", *report_notes(report)]
    heads += [overview_sentence(report.answers)] if has_overview(report.answers) else []
    claims = [claim_text(claimed_ratio, answer) for answer in report.answers] if claimed_ratio else []
    return "\n\n".join([*heads, *(_block(n, answer, rungs, names) for n, answer in enumerate(report.answers)), *claims])


def _block(index: int, answer: ArmComparison, rungs: Rungs, names: Names) -> str:
    from analysis.guard import RowStatus
    from web.compare.answer.guard_words import STANDING_LABELS, TITLES, row_text
    from web.compare.answer.sentence import answer_sentence, detail, excluded_requests_text, factor_text

    lines = [answer_sentence(answer, names), *filter(None, (detail(answer), excluded_requests_text(answer)))]
    if answer.is_ranked:
        lines += [f"  {class_part.ratio.name:<14} {_ratio_text(class_part.ratio)}" for class_part in answer.classes]
        lines += [f"  {factor_text(factor)}" for factor in answer.factors]
    lines += [f"  {rung[index].pair.objective.load_label:<14} {_rung_text(rung[index])}" for rung in rungs]
    lines += [
        f"  [{STANDING_LABELS[row.status]}] {TITLES[row.code]}: {row_text(row, names)}"
        for row in answer.rows
        if row.status is not RowStatus.SAME
    ]
    return "\n".join(lines)


def _rung_text(rung: ArmComparison) -> str:
    from web.compare.answer.part_table import ranked_whole

    overall = ranked_whole(rung)
    return _ratio_text(overall.ratio) if overall else "not ranked" if rung.refused else "no value"


def _ratio_text(ratio: Ratio) -> str:
    interval_text = f" ({ratio.interval[0]:.2f}x to {ratio.interval[1]:.2f}x)" if ratio.interval else ""
    return f"{ratio.ratio:.2f}x{interval_text}"


def as_json(report: ComparisonReport, rungs: Rungs, claimed_ratio: float | None = None) -> dict[str, Any]:
    """Return the fields for `--json`; ratios are other over baseline, 'not_comparable' has none."""
    from reports.arms.comparison import run_names
    from web.compare.answer.overview import has_overview, overview_sentence
    from web.compare.arms.split_words import split_notes

    names = run_names(report.arms)
    fields = {
        "objective": report.objective.name,
        "objectives": [objective.name for objective in report.objectives],
        "workload": report.workload.id if report.workload else None,
        "workloads": [workload.id for workload in report.workloads],
        "margin": report.margin,
        "arms": [
            {
                "name": arm.name,
                "key": arm.key,
                "runs": [run.run_id for run in arm.runs],
                "starts": len(arm.starts),
                "unknown": list(arm.unknown),
                "splits": split_notes([report.arms[0], arm]) if arm is not report.arms[0] else [],
            }
            for arm in report.arms
        ],
        "overview": overview_sentence(report.answers) if has_overview(report.answers) else None,
        "answers": [_answer(answer, names) | _claim(claimed_ratio, answer) for answer in report.answers],
        "rungs": [{"objective": rung[0].pair.objective.name, "answers": list(map(_rung, rung))} for rung in rungs],
        "earlier_runs": [run.run_id for run in report.earlier],
    }
    plain: dict[str, Any] = _plain(fields)
    return plain


def _answer(answer: ArmComparison, names: Names) -> dict[str, Any]:
    from web.compare.answer.guard_words import TITLES
    from web.compare.answer.sentence import answer_sentence, replicate_values

    judgement = answer.judgement if answer.is_ranked else None
    repeats = judgement.more_repeats if judgement else None
    values = replicate_values(answer)
    return _rung(answer) | {
        "baseline": answer.pair.baseline.name,
        "sentence": answer_sentence(answer, names),
        "more_repeats_from": repeats.low if repeats else None,
        "more_repeats": repeats.high if repeats else None,
        "values": {"baseline": values[0], "other": values[1]},
        "parts": [
            _one_ratio(class_part.ratio) | {"factors": _factors(class_part.factors)}
            for class_part in answer.classes
            if judgement
        ],
        "guard": [
            {"code": row.code, "title": TITLES[row.code], "standing": row.status, "values": row.values}
            for row in answer.rows
        ],
        "left_out": dict(answer.left_out),
    }


def _rung(answer: ArmComparison) -> dict[str, Any]:
    """Return the fields of an answer at one concurrency, which `_answer` extends."""
    judgement = answer.judgement if answer.is_ranked else None
    return {
        "other": answer.pair.contender.name,
        "answer": _answer_name(answer),
        "ratio": judgement.ratio if judgement else None,
        "interval": judgement.interval if judgement else None,
        "factors": _factors(answer.factors) if judgement else [],
    }


def _answer_name(answer: ArmComparison) -> str:
    """Return 'better', 'worse', ..., or 'not_comparable' or 'no_value' for an arm that is not ranked."""
    if answer.refused:
        return "not_comparable"
    return answer.judgement.answer.value if answer.judgement else "no_value"


def _claim(claimed_ratio: float | None, answer: ArmComparison) -> dict[str, Any]:
    from analysis.claims.own_runs import claim_status

    if claimed_ratio is None:
        return {}
    judgement = answer.judgement if answer.is_ranked else None
    return {"claim": claim_status(claimed_ratio, judgement, answer.margin).value if judgement else None}


def _factors(factors: Sequence[FactorEffect]) -> list[dict[str, Any]]:
    return [
        _one_ratio(factor)
        | {"finding": factor.finding.value, "share": factor.share, "share_interval": factor.share_interval}
        for factor in factors
    ]


def _one_ratio(ratio: Ratio) -> dict[str, Any]:
    return {"name": ratio.name, "ratio": ratio.ratio, "interval": ratio.interval, "values": list(ratio.values)}


def _plain(value: Any) -> Any:
    """Convert to JSON types; a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Reason):
        return write_reasons([value])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
