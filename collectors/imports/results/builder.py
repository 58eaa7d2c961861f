"""Builds one imported load: its record, requests, results and checks, in the types of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.metrics import UNITS, sample_sd
from collectors.imports.results.values import converted, no_number_reason, number, signed_number
from domain import JsonValue
from load_records import CUT_SHORT, Accuracy, AccuracyItem, Load, LoadPhase, RequestRecord, Result, SuiteCheck
from reasons import Reason, write_reasons
from redaction import mask_json, mask_text
from samples import Sample

MAX_SAMPLES = 2_000_000  # per load


class Ticket(NamedTuple):
    """Import of one file: its target run, and name, hash and date of the file."""

    run_id: str
    token: str  # unique among the loads of the run
    source_name: str
    sha256: str
    file_date: datetime
    is_cut: bool = False  # the tool was stopped before it finished


class MeasurementPoint(NamedTuple):
    """Conditions of a measurement; `name` is the display name."""

    name: str
    concurrency: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    depth_tokens: int | None = None


@dataclass
class LoadBuilder:
    """A load under construction; `ts`: its start as far as known from the file."""

    ticket: Ticket
    tool: str
    tool_version: str | None
    workload: str
    ts: datetime
    number: int = 0  # among the loads of one file
    params: dict[str, JsonValue] = field(default_factory=dict)
    prompt_set_hash: str | None = None
    planned_requests: int | None = None
    command: list[str] | None = None
    model: str | None = None
    base_url: str | None = None
    server_config: dict[str, JsonValue] = field(default_factory=dict)  # fields of the server's Config that are stated
    notes: list[str] = field(default_factory=list)  # remarks for the user
    line: int | None = None  # of a text, from 1: where what was printed begins
    requests: int = 0
    rows: list[Sample] = field(default_factory=list)

    @property
    def load_id(self) -> str:
        return f"{self.ticket.token}-{self.number}"

    @property
    def definition(self) -> str:
        return f"{self.tool} {self.tool_version}" if self.tool_version else self.tool

    @property
    def result_rows(self) -> list[Result]:
        """The results that were added so far."""
        return [row for row in self.rows if isinstance(row, Result)]

    def result(
        self,
        point: MeasurementPoint,
        metric: str,
        statistic: str,
        raw_value: Any,
        *,
        factor: float = 1.0,
        n: int | None = None,
        population_sd: Any = None,
        sd: float | None = None,
        reasons: Iterable[Reason] = (),
        unit: str | None = None,
        is_signed: bool = False,
    ) -> None:
        """Add one value from the file; `factor` converts it to Pitwall's unit, `population_sd` has ddof 0.

        `unit`: of a metric without a Pitwall name. `is_signed`: it may be negative, as a difference or a delay may.
        """
        value, raw_sd = signed_number(raw_value) if is_signed else number(raw_value), number(population_sd)
        if raw_sd is not None:
            sd, reason = sample_sd(raw_sd * factor, n)
            reasons = [*reasons, *([reason] if reason else [])]
        if value is None:
            reasons = [no_number_reason(raw_value)]
        self._add(
            Result(
                self.ticket.run_id, self.load_id, self.ts, mask_text(point.name), metric, statistic,
                unit or UNITS[metric], self.definition, value=value and converted(value, factor), n=n, sd=sd,
                concurrency=point.concurrency, prompt_tokens=point.prompt_tokens, output_tokens=point.output_tokens,
                depth_tokens=point.depth_tokens, reason=write_reasons(reasons),
            )
        )  # fmt: skip

    def results(
        self,
        point: MeasurementPoint,
        metric: str,
        raw_values: Mapping[str, Any],
        names: Mapping[str, str],
        **options: Any,
    ) -> None:
        """Add the statistics that the file has; `names`: Pitwall's statistic -> the file's name.

        The standard deviation, if `options` has one, belongs to the mean.
        """
        for statistic, name in names.items():
            if name in raw_values:
                arguments = (
                    options if statistic == "mean" else {k: v for k, v in options.items() if k in ("factor", "n")}
                )
                self.result(point, metric, statistic, raw_values[name], **arguments)

    def request(self, **fields: Any) -> None:
        """Add one request; its id contains its number within the load."""
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
        """Add the record of one phase."""
        if self.ticket.is_cut and fields["kind"] == "measure":
            fields["is_complete"] = False
        self._add(LoadPhase(run_id=self.ticket.run_id, load_id=self.load_id, paused_s=0.0, **fields))

    def check(self, **fields: Any) -> None:
        """Add the result of one suite case."""
        self._add(SuiteCheck(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, **mask_json(fields)))

    def accuracy(self, *, reason: Reason | None = None, **fields: Any) -> None:
        """Add the accuracy of a task; `reason`: why it has none."""
        reasons = write_reasons([reason] if reason else [])
        self._add(
            Accuracy(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, reason=reasons, **mask_json(fields))
        )

    def accuracy_item(self, **fields: Any) -> None:
        """Add one item of a task with its answer and score."""
        self._add(AccuracyItem(run_id=self.ticket.run_id, load_id=self.load_id, ts=self.ts, **mask_json(fields)))

    def load(self) -> Load:
        """Return the load's record; secrets are masked."""
        params = self.params | ({CUT_SHORT: True} if self.ticket.is_cut else {})
        return Load(
            self.ticket.run_id, self.load_id, self.ts, self.tool, self.workload, self.tool_version,
            self.prompt_set_hash, mask_json(params), self.planned_requests,
            source_name=self.ticket.source_name, source_sha256=self.ticket.sha256, command=self.command,
        )  # fmt: skip

    def _add(self, row: Sample) -> None:
        if len(self.rows) >= MAX_SAMPLES:
            raise ImportRefusedError(f"{self.ticket.source_name} has more than {MAX_SAMPLES:,} rows.")
        self.rows.append(row)
