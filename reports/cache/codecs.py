"""Codecs for run reports and evidence in the disk cache: JSON of the values read from the store."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from analysis.runs.printed_speed import PrintedSpeed
from analysis.runs.windows import Window, summarize
from domain import Run
from reports.cache.disk_cache import Codec
from reports.runs.evidence import Evidence
from reports.runs.run_report import RunReport
from reports.source_hash import source_hash
from storage.queries.run_data import Acceptance, Crosscheck, RequestTotals, Silence, SourceRow

EXACT = ConfigDict(ser_json_inf_nan="constants")


@dataclass(frozen=True, config=EXACT)
class _StoredReport:
    windows: list[Window]
    acceptance: Acceptance
    requests: RequestTotals
    printed: PrintedSpeed | None


@dataclass(frozen=True, config=EXACT)
class _StoredEvidence:
    sources: list[SourceRow]
    crosscheck: Crosscheck
    no_counters: str | None
    silence: Silence | None


_REPORT_ADAPTER: TypeAdapter[Any] = TypeAdapter(_StoredReport)
_EVIDENCE_ADAPTER: TypeAdapter[Any] = TypeAdapter(_StoredEvidence)


def _version() -> str:
    """Return the version of the code that computes reports and evidence."""
    return source_hash(__name__)


def _pack_report(report: RunReport) -> bytes:
    return _REPORT_ADAPTER.dump_json(_StoredReport(report.windows, report.acceptance, report.requests, report.printed))


def _unpack_report(run: Run, content: bytes) -> RunReport:
    stored = _REPORT_ADAPTER.validate_json(content)
    values = stored.windows, summarize(stored.windows), stored.acceptance, stored.requests, stored.printed
    return RunReport(run, *values)


def _pack_evidence(evidence: Evidence) -> bytes:
    return _EVIDENCE_ADAPTER.dump_json(
        _StoredEvidence(*(getattr(evidence, field.name) for field in fields(_StoredEvidence)))
    )


def _unpack_evidence(run: Run, content: bytes) -> Evidence:
    stored = _EVIDENCE_ADAPTER.validate_json(content)
    return Evidence(run, *(getattr(stored, field.name) for field in fields(_StoredEvidence)))


REPORTS = Codec("report", _version, _pack_report, _unpack_report)
EVIDENCE = Codec("evidence", _version, _pack_evidence, _unpack_evidence)
