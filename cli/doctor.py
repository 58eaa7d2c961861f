"""`./pitwall doctor`: checks this machine and prints what is wrong, with what to do about it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from cli.answers import Answer, add_command
from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from service.doctor.diagnosis import Diagnosis

MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall doctor` to the parser."""
    help_text = "check this machine: Python, disk, port, GPUs, containers, ssh hosts, lake, clock; for reports of bugs"
    add_command(commands, "doctor", examine_machine, help_text)


def examine_machine(arguments: argparse.Namespace) -> Answer:
    """Print every result; REFUSED if there is a problem."""
    from service.doctor.diagnosis import has_problem
    from service.doctor.examination import examine
    from settings import VERSION

    results = examine()
    fields = {"version": VERSION, "checks": [asdict(result) for result in results]}
    return Answer("\n".join(map(_line, results)), fields, REFUSED if has_problem(results) else DONE)


def _line(result: Diagnosis) -> str:
    advice = f"\n        -> {result.advice}" if result.advice else ""
    return f"{MARKS[result.severity]} {result.subject}: {result.text}{advice}"
