"""`./pitwall compare RUN...`: the answer of the Compare page in a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from analysis.compare import Comparison
    from analysis.replicates import Ratio
    from reports.comparison import Asking, ComparisonReport
    from web.words import Names


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    words = "say which of some runs is faster, by how much, because of what, and whether that may be said"
    command = commands.add_parser("compare", help=words, description=words)
    command.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; repeats of one configuration are found")
    command.add_argument("--objective", metavar="NAME", help="what to compare by: decode_tps, output_tps@8, ttft_ms@1")
    command.add_argument(
        "--declare", action="append", default=[], metavar="ROW", help="model, sampling or hardware: what is compared"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """REFUSED with a sentence where an id, an objective or a row is not known; raises StoreError."""
    from reports.comparison import comparison_of
    from settings import load_settings
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.reading import published_query

    with published_query(load_settings().published_path) as query:
        store = Published(query)
        runs = runs_of(store, arguments.runs)
        if unknown := [run_id for run_id in arguments.runs if run_id not in {run.id for run in runs}]:
            print(f"There is no run {', '.join(unknown)}.", file=sys.stderr)
            return REFUSED
        report = comparison_of(store, runs, _asking(arguments))
    if len(report.arms) < 2:
        print("These runs repeat one configuration: comparing needs two.", file=sys.stderr)
        return REFUSED
    print(json.dumps(as_json(report)) if arguments.json else as_text(report))
    return DONE


def _asking(arguments: argparse.Namespace) -> Asking:
    from analysis.evidence.objectives import parse_objective
    from analysis.guard import DECLARABLE, RowCode
    from errors import PitwallError
    from reports.comparison import Asking

    names = {code.value: code for code in RowCode if code in DECLARABLE}
    if wrong := [word for word in arguments.declare if word not in names]:
        raise PitwallError(f"{wrong[0]!r} cannot be declared as what is compared: {', '.join(names)} can.")
    objective = parse_objective(arguments.objective) if arguments.objective else None
    return Asking(objective, frozenset(names[word] for word in arguments.declare))


def as_text(report: ComparisonReport) -> str:
    """A block an arm: the sentence, the values, classes and factors, and the guard's rows that are not 'same'."""
    from reports.comparison import named

    names = named(report.arms)
    heads = [f"Compared by {report.objective.title}. {report.objective.terms.meaning}."]
    return "\n\n".join([*heads, *(_block(answer, names) for answer in report.answers)])


def _block(answer: Comparison, names: Names) -> str:
    from analysis.guard import Standing
    from web.compare.guard_words import STANDINGS, TITLES, row_words
    from web.compare.sentence import detail, factor_words, left_out_words, sentence

    lines = [sentence(answer, names), *filter(None, (detail(answer), left_out_words(answer)))]
    if answer.is_ranked:
        lines += [f"  {part.ratio.name:<14} {_ratio_words(part.ratio)}" for part in answer.parts]
        lines += [f"  {factor_words(factor)}" for factor in answer.factors]
    lines += [
        f"  [{STANDINGS[row.standing]}] {TITLES[row.code]}: {row_words(row, names)}"
        for row in answer.rows
        if row.standing is not Standing.SAME
    ]
    return "\n".join(lines)


def _ratio_words(ratio: Ratio) -> str:
    between = f" ({ratio.interval[0]:.2f}x to {ratio.interval[1]:.2f}x)" if ratio.interval else ""
    return f"{ratio.ratio:.2f}x{between}"


def as_json(report: ComparisonReport) -> dict[str, Any]:
    """What a program reads; ratios are other over baseline, 'not_comparable' has none."""
    from reports.comparison import named

    names = named(report.arms)
    return {
        "objective": report.objective.name,
        "objectives": [one.name for one in report.objectives],
        "arms": [
            {"name": arm.name, "key": arm.key, "runs": [r.run_id for r in arm.runs], "unknown": list(arm.unknown)}
            for arm in report.arms
        ],
        "answers": [_answer(answer, names) for answer in report.answers],
    }


def _answer(answer: Comparison, names: Names) -> dict[str, Any]:
    from web.compare.sentence import sentence, values_of

    judged = answer.judgement if answer.is_ranked else None
    values = values_of(answer)
    return {
        "baseline": answer.pair.baseline.name,
        "other": answer.pair.other.name,
        "answer": judged.answer.value if judged else "not_comparable" if answer.refused else "no_value",
        "sentence": sentence(answer, names),
        "ratio": judged.ratio if judged else None,
        "interval": judged.interval if judged else None,
        "more_repeats": judged.more_repeats if judged else None,
        "values": {"baseline": values[0], "other": values[1]},
        "factors": _ratios(answer.factors) if judged else [],
        "parts": [_one_ratio(part.ratio) | {"factors": _ratios(part.factors)} for part in answer.parts if judged],
        "guard": [{"code": row.code, "standing": row.standing, "values": _plain(row.values)} for row in answer.rows],
        "left_out": dict(answer.left_out),
    }


def _ratios(ratios: Sequence[Ratio]) -> list[dict[str, Any]]:
    return [_one_ratio(one) for one in ratios]


def _one_ratio(one: Ratio) -> dict[str, Any]:
    return {"name": one.name, "ratio": one.ratio, "interval": one.interval, "values": list(one.values)}


def _plain(values: Any) -> Any:
    """Tuples and enums as JSON knows them; an infinite ratio is unknown."""
    return json.loads(json.dumps(values, default=str).replace("Infinity", "null"))
