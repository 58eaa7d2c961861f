"""Builds one imported load: its record and its requests, results and checks, in the types of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.metrics import UNITS, sample_sd
from collectors.imports.results.values import number, why_no_number
from domain import JsonValue
from load_records import CUT_SHORT, Accuracy, AccuracyItem, Check, Load, LoadPhase, RequestRecord, Result
from reasons import Reason, write_reasons
from redaction import mask_json, mask_text
from samples import Sample

MOST_SAMPLES = 2_000_000  # of one load


class Ticket(NamedTuple):
    """What an importer knows of the file it reads: whose it becomes, and when it was last written."""

    run_id: str
    token: str  # unlike that of any other load of the run
    source_name: str
    sha256: str
    dated: datetime
    is_cut: bool = False  # the tool was ended before it was through


class Point(NamedTuple):
    """What was measured under; `name` is how people read it."""

    name: str
    concurrency: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    depth_tokens: int | None = None


@dataclass
class LoadBuilder:
    """A load in the making; `ts` is when it began, as far as the file says."""

    ticket: Ticket
    tool: str
    tool_version: str | None
    workload: str
    ts: datetime
    number: int = 0  # of the loads of one file
    params: dict[str, JsonValue] = field(default_factory=dict)
    prompt_set_hash: str | None = None
    planned_requests: int | None = None
    command: list[str] | None = None
    model: str | None = None
    base_url: str | None = None
    notes: list[str] = field(default_factory=list)  # what a person should know of it
    requests: int = 0
    rows: list[Sample] = field(default_factory=list)

    @property
    def load_id(self) -> str:
        return f"{self.ticket.token}-{self.number}"

    @property
    def definition(self) -> str:
        return f"{self.tool} {self.tool_version}" if self.tool_version else self.tool

    def result(
        self,
        point: Point,
        metric: str,
        statistic: str,
        given: Any,
        *,
        factor: float = 1.0,
        n: int | None = None,
        population_sd: Any = None,
        sd: float | None = None,
        reasons: Iterable[Reason] = (),
        unit: str | None = None,
    ) -> None:
        """Add one number as the file gives it; `factor` brings it into our unit, `population_sd` is one with ddof 0.

        `unit` is that of a metric for which we have no name.
        """
        value, spread = number(given), number(population_sd)
        if spread is not None:
            sd, why = sample_sd(spread * factor, n)
            reasons = [*reasons, *([why] if why else [])]
        if value is None:
            reasons = [why_no_number(given)]
        self._add(
            Result(
                self.ticket.run_id, self.load_id, self.ts, mask_text(point.name), metric, statistic,
                unit or UNITS[metric], self.definition, value=None if value is None else value * factor, n=n, sd=sd,
                concurrency=point.concurrency, prompt_tokens=point.prompt_tokens, output_tokens=point.output_tokens,
                depth_tokens=point.depth_tokens, reason=write_reasons(reasons),
            )
        )  # fmt: skip

    def results(
        self, point: Point, metric: str, given: Mapping[str, Any], names: Mapping[str, str], **about: Any
    ) -> None:
        """Add the statistics that are there: `names` gives the file's name of each of ours.

        The deviation, if `about` has one, stands with the mean.
        """
        for statistic, name in names.items():
            if name in given:
                details = about if statistic == "mean" else {k: v for k, v in about.items() if k in ("factor", "n")}
                self.result(point, metric, statistic, given[name], **details)

    def request(self, **fields: Any) -> None:
        """Add one request; its id is its number within the load."""
        self.requests += 1
        if fields.get("error_text"):
            fields["error_text"] = mask_text(fields["error_text"])
        self._add(
            RequestRecord(
                run_id=self.ticket.run_id, request_id=f"{self.load_id}-{self.requests}", workload=self.workload,
                load_id=self.load_id, **fields,
            )
        )  # fmt: skip

    def phase(self, **fields: Any) -> None:
        """Add how one phase went."""
        if self.ticket.is_cut and fields["kind"] == "measure":
            fields["is_complete"] = False
        self._add(LoadPhase(run_id=self.ticket.run_id, load_id=self.load_id, paused_s=0.0, **fields))

    def check(self, **fields: Any) -> None:
        """Add the verdict on one case."""
        self._add(Check(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, **mask_json(fields)))

    def accuracy(self, *, reason: Reason | None = None, **fields: Any) -> None:
        """Add the share of right answers of a task; `reason` says why it has none."""
        why = write_reasons([reason] if reason else [])
        self._add(
            Accuracy(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, reason=why, **mask_json(fields))
        )

    def accuracy_item(self, **fields: Any) -> None:
        """Add one item of a task, with its answer and whether that was right."""
        self._add(AccuracyItem(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, **mask_json(fields)))

    def load(self) -> Load:
        """The record of what was asked; secrets are masked."""
        params = self.params | ({CUT_SHORT: True} if self.ticket.is_cut else {})
        return Load(
            self.ticket.run_id, self.load_id, self.ts, self.tool, self.workload, self.tool_version,
            self.prompt_set_hash, mask_json(params), self.planned_requests,
            source_name=self.ticket.source_name, source_sha256=self.ticket.sha256, command=self.command,
        )  # fmt: skip

    def _add(self, row: Sample) -> None:
        if len(self.rows) >= MOST_SAMPLES:
            raise ImportRefusedError(f"{self.ticket.source_name} holds more than {MOST_SAMPLES:,} rows.")
        self.rows.append(row)
