"""Codecs for run reports and evidence in the disk cache: JSON, and the windows of a report as an Arrow stream.

A report's file begins with the length of its JSON, in eight bytes. Its windows are most of it: as JSON, those of a day
took a second to read.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from analysis.comparison.log_speed import LogSpeed
from analysis.runs.printed_speed import PrintedSpeed
from analysis.runs.speed_summary import SpeedSummary
from domain import Run
from reports.cache.disk_cache import Codec
from reports.runs.evidence import Evidence
from reports.runs.run_report import RunReport
from reports.source_hash import source_hash
from storage.queries.run_data import Acceptance, Crosscheck, EngineUsage, RequestTotals, Silence, SourceRow
from storage.queries.window_rows import WindowRows

LENGTH_BYTES = 8
EXACT = ConfigDict(ser_json_inf_nan="constants")


@dataclass(frozen=True, config=EXACT)
class _StoredReport:
    summary: SpeedSummary
    acceptance: Acceptance
    usage: EngineUsage
    requests: RequestTotals
    printed: PrintedSpeed | None
    log_speed: LogSpeed | None


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
    stored = _StoredReport(*(getattr(report, field.name) for field in fields(_StoredReport)))
    values = _REPORT_ADAPTER.dump_json(stored)
    windows = report.windows if isinstance(report.windows, WindowRows) else WindowRows.of(report.windows)
    return len(values).to_bytes(LENGTH_BYTES) + values + windows.to_bytes()


def _unpack_report(run: Run, content: bytes) -> RunReport:
    end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES])
    stored = _REPORT_ADAPTER.validate_json(content[LENGTH_BYTES:end])
    values = {field.name: getattr(stored, field.name) for field in fields(_StoredReport)}
    return RunReport(run, WindowRows.from_bytes(content[end:]), **values)


def _pack_evidence(evidence: Evidence) -> bytes:
    return _EVIDENCE_ADAPTER.dump_json(
        _StoredEvidence(*(getattr(evidence, field.name) for field in fields(_StoredEvidence)))
    )


def _unpack_evidence(run: Run, content: bytes) -> Evidence:
    stored = _EVIDENCE_ADAPTER.validate_json(content)
    return Evidence(run, *(getattr(stored, field.name) for field in fields(_StoredEvidence)))


REPORTS = Codec("report", _version, _pack_report, _unpack_report)
EVIDENCE = Codec("evidence", _version, _pack_evidence, _unpack_evidence)
