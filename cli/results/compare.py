"""`./pitwall compare RUN...`: the answer of the Compare page in a terminal."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE, REFUSED
from reasons import Reason, write_reasons

if TYPE_CHECKING:
    from analysis.comparison.compare import Comparison
    from analysis.comparison.replicates import Ratio
    from reports.arms.comparison import Asking, ComparisonReport
    from reports.arms.viewpoints import Known
    from web.compare.answer.part_table import Rungs
    from web.words import Names


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall compare` and its flags to the parser."""
    words = "say which of some runs is faster, by how much, because of what, and whether that may be said"
    command = commands.add_parser("compare", help=words, description=words)
    command.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; repeats of one configuration are found")
    command.add_argument("--objective", metavar="NAME", help="what to compare by: decode_tps, output_tps@8, ttft_ms@1")
    command.add_argument(
        "--declare",
        action="append",
        default=[],
        metavar="ROW",
        help="model, sampling, hardware or gpu_limits: what is compared",
    )
    command.add_argument(
        "--margin", metavar="SHARE", help="the smallest difference that matters: 2%% unless set, or 0.02"
    )
    command.add_argument("--claim", metavar="RATIO", help="say whether '2x' of the baseline is what was measured")
    command.add_argument("--workload", metavar="NAME", help="whose loads are compared, where the runs share several")
    command.add_argument("--viewpoints", action="store_true", help="also the best by every viewpoint")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """REFUSED with a sentence where an id, an objective or a row is not known; raises StoreError."""
    from analysis.claims.own_runs import parse_claim
    from reports.arms.comparison import comparison_of, rungs_of
    from reports.arms.viewpoints import known_of
    from settings import load_settings
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.published_query import published_query

    claimed = parse_claim(arguments.claim) if arguments.claim else None
    settings = load_settings()
    with published_query(settings.published_path) as query:
        store = Published(query)
        runs = runs_of(store, arguments.runs)
        if unknown := [run_id for run_id in arguments.runs if run_id not in {run.id for run in runs}]:
            print(f"There is no run {', '.join(unknown)}.", file=sys.stderr)
            return REFUSED
        asking = _asking(arguments)
        report = comparison_of(store, runs, asking)
        rungs = rungs_of(report, asking)
        is_wanted = arguments.viewpoints and len(report.arms) > 1
        known = known_of(store, report, runs, settings.prices_path, asking.declared) if is_wanted else None
    if len(report.arms) < 2:
        print("These runs repeat one configuration: comparing needs two.", file=sys.stderr)
        return REFUSED
    views = viewpoints(known) if known else []
    if arguments.json:
        print(json.dumps(as_json(report, rungs, claimed) | ({"viewpoints": views} if known else {}), allow_nan=False))
    else:
        print("\n\n".join([as_text(report, rungs, claimed), *(": ".join(_said(view)) for view in views)]))
    return DONE


def viewpoints(known: Known) -> list[dict[str, str]]:
    """What Compare's table says, a row a viewpoint: its column -> the words."""
    from reports.arms.viewpoints import rankings
    from web.compare.viewpoints.viewpoint_table import HEAD, viewpoint_lines

    arms = {arm.id: arm.name for arm in known.arms}
    lines = viewpoint_lines(rankings(known), arms)
    return [dict(zip(HEAD, line[: len(HEAD)], strict=True)) for line in lines]


def _said(view: dict[str, str]) -> tuple[str, str]:
    """'Time to first token', 'A, 45 ms; runner-up B, 57 ms; ...': columns that say nothing are left out."""
    title, best, *rest = view.items()
    return title[1], "; ".join([best[1], *(f"{name.lower()} {words}" for name, words in rest if len(words) > 1)])


def _asking(arguments: argparse.Namespace) -> Asking:
    from analysis.evidence.objectives import parse_objective
    from analysis.guard import DECLARABLE, RowCode
    from analysis.verdict import MARGIN, parse_margin
    from errors import PitwallError
    from reports.arms.comparison import Asking

    names = {code.value: code for code in RowCode if code in DECLARABLE}
    if wrong := [word for word in arguments.declare if word not in names]:
        raise PitwallError(f"{wrong[0]!r} cannot be declared as what is compared: {', '.join(names)} can.")
    objective = parse_objective(arguments.objective) if arguments.objective else None
    margin = parse_margin(arguments.margin) if arguments.margin else MARGIN
    declared = frozenset(names[word] for word in arguments.declare)
    return Asking(objective, declared, margin=margin, workload=arguments.workload)


def as_text(report: ComparisonReport, rungs: Rungs, claimed: float | None = None) -> str:
    """A block an arm: the sentence, values, classes or rungs, factors, and the guard's rows that are not 'same'."""
    from reports.arms.comparison import named
    from web.compare.answer.report_notes import report_notes
    from web.compare.sources.claim_words import claim_words

    names = named(report.arms)
    heads = [f"Compared by {report.objective.title}. {report.objective.terms.meaning}.", *report_notes(report)]
    claims = [claim_words(claimed, answer) for answer in report.answers] if claimed else []
    return "\n\n".join([*heads, *(_block(n, answer, rungs, names) for n, answer in enumerate(report.answers)), *claims])


def _block(place: int, answer: Comparison, rungs: Rungs, names: Names) -> str:
    from analysis.guard import Standing
    from web.compare.answer.guard_words import STANDINGS, TITLES, row_words
    from web.compare.answer.sentence import detail, factor_words, left_out_words, sentence

    lines = [sentence(answer, names), *filter(None, (detail(answer), left_out_words(answer)))]
    if answer.is_ranked:
        lines += [f"  {part.ratio.name:<14} {_ratio_words(part.ratio)}" for part in answer.parts]
        lines += [f"  {factor_words(factor, answer.margin)}" for factor in answer.factors]
    lines += [f"  {rung[place].pair.objective.load_words:<14} {_rung_words(rung[place])}" for rung in rungs]
    lines += [
        f"  [{STANDINGS[row.standing]}] {TITLES[row.code]}: {row_words(row, names)}"
        for row in answer.rows
        if row.standing is not Standing.SAME
    ]
    return "\n".join(lines)


def _rung_words(rung: Comparison) -> str:
    from web.compare.answer.part_table import ranked_whole

    whole = ranked_whole(rung)
    return _ratio_words(whole.ratio) if whole else "not ranked" if rung.refused else "no value"


def _ratio_words(ratio: Ratio) -> str:
    between = f" ({ratio.interval[0]:.2f}x to {ratio.interval[1]:.2f}x)" if ratio.interval else ""
    return f"{ratio.ratio:.2f}x{between}"


def as_json(report: ComparisonReport, rungs: Rungs, claimed: float | None = None) -> dict[str, Any]:
    """What a program reads; ratios are other over baseline, 'not_comparable' has none."""
    from reports.arms.comparison import named

    names = named(report.arms)
    whole = {
        "objective": report.objective.name,
        "objectives": [one.name for one in report.objectives],
        "workload": report.workload.id if report.workload else None,
        "workloads": [one.id for one in report.workloads],
        "margin": report.margin,
        "arms": [
            {
                "name": arm.name,
                "key": arm.key,
                "runs": [run.run_id for run in arm.runs],
                "starts": len(arm.starts),
                "unknown": list(arm.unknown),
            }
            for arm in report.arms
        ],
        "answers": [_answer(answer, names) | _claim(claimed, answer) for answer in report.answers],
        "rungs": [{"objective": rung[0].pair.objective.name, "answers": list(map(_rung, rung))} for rung in rungs],
        "earlier_runs": [run.run_id for run in report.earlier],
    }
    plain: dict[str, Any] = _plain(whole)
    return plain


def _answer(answer: Comparison, names: Names) -> dict[str, Any]:
    from web.compare.answer.sentence import sentence, values_of

    judged = answer.judgement if answer.is_ranked else None
    values = values_of(answer)
    return _rung(answer) | {
        "baseline": answer.pair.baseline.name,
        "sentence": sentence(answer, names),
        "more_repeats": judged.more_repeats if judged else None,
        "values": {"baseline": values[0], "other": values[1]},
        "parts": [_one_ratio(part.ratio) | {"factors": _ratios(part.factors)} for part in answer.parts if judged],
        "guard": [{"code": row.code, "standing": row.standing, "values": row.values} for row in answer.rows],
        "left_out": dict(answer.left_out),
    }


def _rung(answer: Comparison) -> dict[str, Any]:
    """What is said at one concurrency; an answer says more."""
    judged = answer.judgement if answer.is_ranked else None
    return {
        "other": answer.pair.other.name,
        "answer": judged.answer.value if judged else "not_comparable" if answer.refused else "no_value",
        "ratio": judged.ratio if judged else None,
        "interval": judged.interval if judged else None,
        "factors": _ratios(answer.factors) if judged else [],
    }


def _claim(claimed: float | None, answer: Comparison) -> dict[str, Any]:
    from analysis.claims.own_runs import claim_standing

    if claimed is None:
        return {}
    judged = answer.judgement if answer.is_ranked else None
    return {"claim": claim_standing(claimed, judged, answer.margin).value if judged else None}


def _ratios(ratios: Sequence[Ratio]) -> list[dict[str, Any]]:
    return [_one_ratio(one) for one in ratios]


def _one_ratio(one: Ratio) -> dict[str, Any]:
    return {"name": one.name, "ratio": one.ratio, "interval": one.interval, "values": list(one.values)}


def _plain(value: Any) -> Any:
    """As JSON knows it; a ratio that is not finite is unknown."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, Reason):
        return write_reasons([value])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
