"""`./pitwall claims`: recomputes the published statements from the published numbers."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE

if TYPE_CHECKING:
    from analysis.claims.check import CheckedClaim

OUTCOME_LABELS = {True: "agrees", False: "contradicted", None: "cannot be decided"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall claims` to the parser."""
    help_text = "recompute the statements of the published documents from their numbers"
    command = commands.add_parser("claims", help=help_text, description=help_text)
    command.add_argument("--json", action="store_true", help="print one JSON object per check")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line per check, and at the end the number of contradictions."""
    from reports.arms.claims import checked_claims

    checked = checked_claims()
    for claim in checked:
        print(json.dumps(as_json(claim)) if arguments.json else as_text(claim))
    if not arguments.json:
        wrong = sum(claim.is_contradiction for claim in checked)
        print(f"{len(checked)} checks, {wrong} contradictions. All numbers are as published.")
    return DONE


def as_text(claim: CheckedClaim) -> str:
    """Return '[contradicted] s004.x2conc, source 004 line 5: ratio = 1.643, stated 2. ...'"""
    check = claim.check
    recomputed = f" = {_numbers(claim.outcome.recomputed)}" if claim.outcome.recomputed else ""
    stated_text = f", stated {_numbers(check.formula_input.stated_values)}" if check.formula_input.stated_values else ""
    explanation = "" if claim.outcome.agrees else f". {claim.words}"
    head = f"[{OUTCOME_LABELS[claim.outcome.agrees]}] {check.id}, source {check.source} line {check.line}"
    return f"{head}: {check.formula}{recomputed}{stated_text}{explanation}"


def as_json(claim: CheckedClaim) -> dict[str, Any]:
    """Return the fields of one check for `--json`."""
    return {
        "id": claim.check.id,
        "source": claim.check.source,
        "line": claim.check.line,
        "formula": claim.check.formula,
        "inputs": list(claim.inputs),
        "stated": list(claim.check.formula_input.stated_values),
        "recomputed": list(claim.outcome.recomputed),
        "agrees": claim.outcome.agrees,
        "meaning": None if claim.outcome.agrees else claim.words,
    }


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:,.10g}" for value in values)
