"""`./pitwall claims`: the published statements, recomputed from the published numbers."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE

if TYPE_CHECKING:
    from analysis.claims.check import Checked

STANDINGS = {True: "agrees", False: "contradicted", None: "cannot be told"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall claims` to the parser."""
    words = "recompute the statements of the published documents from their numbers"
    command = commands.add_parser("claims", help=words, description=words)
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One line a check; the contradictions once more at the end."""
    from reports.arms.claims import checked_claims

    checked = checked_claims()
    for one in checked:
        print(json.dumps(as_json(one)) if arguments.json else as_text(one))
    if not arguments.json:
        wrong = sum(one.is_contradiction for one in checked)
        print(f"{len(checked)} checks, {wrong} contradictions. All numbers are as published.")
    return DONE


def as_text(one: Checked) -> str:
    """'[contradicted] s004.x2conc, source 004 line 5: ratio = 1.643, stated 2. ...'"""
    check = one.check
    came = f" = {_numbers(one.outcome.recomputed)}" if one.outcome.recomputed else ""
    stated = f", stated {_numbers(check.given.stated)}" if check.given.stated else ""
    why = "" if one.outcome.agrees else f". {one.words}"
    head = f"[{STANDINGS[one.outcome.agrees]}] {check.id}, source {check.source} line {check.line}"
    return f"{head}: {check.formula}{came}{stated}{why}"


def as_json(one: Checked) -> dict[str, Any]:
    """What a program reads."""
    return {
        "id": one.check.id,
        "source": one.check.source,
        "line": one.check.line,
        "formula": one.check.formula,
        "inputs": list(one.inputs),
        "stated": list(one.check.given.stated),
        "recomputed": list(one.outcome.recomputed),
        "agrees": one.outcome.agrees,
        "meaning": None if one.outcome.agrees else one.words,
    }


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:,.10g}" for value in values)
