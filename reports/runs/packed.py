"""The report and the evidence of a run as they are kept on the disk: JSON of what was asked of the store."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from analysis.runs.printed import PrintedSpeed
from analysis.runs.windows import Window, summarize
from domain import Run
from engines import all_definitions
from reports.formulas import formulas
from reports.runs.evidence import Evidence
from reports.runs.run_report import RunReport
from reports.runs.shelf import Form
from storage.ask.queries import Acceptance, Crosscheck, RequestTotals, Silence, SourceRow

EXACT = ConfigDict(ser_json_inf_nan="constants")
# What the evidence follows from beside what a report does.
OF_EVIDENCE = (
    "reports/runs/evidence.py",
    "storage/ask/live_queries.py",
    "storage/ask/questions/sources",
)


@dataclass(frozen=True, config=EXACT)
class _Counted:
    windows: list[Window]
    acceptance: Acceptance
    requests: RequestTotals
    printed: PrintedSpeed | None


@dataclass(frozen=True, config=EXACT)
class _Said:
    sources: list[SourceRow]
    crosscheck: Crosscheck
    no_counters: str | None
    silence: Silence | None


_COUNTED: TypeAdapter[Any] = TypeAdapter(_Counted)
_SAID: TypeAdapter[Any] = TypeAdapter(_Said)


def _formulas_of_evidence() -> str:
    """With what every definition means, which is shown with a run's sources."""
    return hashlib.sha256(f"{formulas(*OF_EVIDENCE)} {all_definitions()}".encode()).hexdigest()


def _pack_report(report: RunReport) -> bytes:
    return _COUNTED.dump_json(_Counted(report.windows, report.acceptance, report.requests, report.printed))


def _unpack_report(run: Run, content: bytes) -> RunReport:
    counted = _COUNTED.validate_json(content)
    known = counted.windows, summarize(counted.windows), counted.acceptance, counted.requests, counted.printed
    return RunReport(run, *known)


def _pack_evidence(evidence: Evidence) -> bytes:
    return _SAID.dump_json(_Said(*(getattr(evidence, field.name) for field in fields(_Said))))


def _unpack_evidence(run: Run, content: bytes) -> Evidence:
    said = _SAID.validate_json(content)
    return Evidence(run, *(getattr(said, field.name) for field in fields(_Said)))


REPORTS = Form("report", formulas, _pack_report, _unpack_report)
EVIDENCE = Form("evidence", _formulas_of_evidence, _pack_evidence, _unpack_evidence)
