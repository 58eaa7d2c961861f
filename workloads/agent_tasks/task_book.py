"""Writes the records of an agent task: its load, a check for each repeat, and the share that was solved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from analysis.loads.agent_tasks import METRIC, TaskEnd, TaskRepeat
from domain import JsonValue
from load_records import AGENT_TASK, Load, RequestRecord, Result, SuiteCheck
from workloads.agent_tasks.task_params import AgentTaskParams
from workloads.job import LoadJob
from workloads.requests.records import Line, append_record

FOLDER_DIGEST, AGENT_VERSION = "folder_digest", "agent_version"  # in the load's parameters, with those of the operator
MODE = "agent"


@dataclass
class TaskBook:
    """Records of one load; nothing in them is text of the agent."""

    job: LoadJob
    params: AgentTaskParams
    load_id: str
    utc_now: Callable[[], datetime]
    repeats: list[TaskRepeat] = field(default_factory=list)

    def begin(self, folder_digest: str, agent_version: str | None) -> None:
        """Write the load with everything that two loads must share to be compared."""
        params = self.params.model_dump(mode="json") | {FOLDER_DIGEST: folder_digest, AGENT_VERSION: agent_version}
        self.task_hash = _task_hash(params)
        self._write(
            Load(
                self.job.run_id, self.load_id, self.utc_now(), AGENT_TASK, AGENT_TASK, agent_version, self.task_hash,
                params, planned_phases=self.params.repeats, command=list(self.params.agent),
            )
        )  # fmt: skip

    def end_repeat(self, number: int, repeat: TaskRepeat) -> None:
        """Write the check of a repeat."""
        self.repeats.append(repeat)
        self._write(
            SuiteCheck(
                self.job.run_id, self.load_id, self.utc_now(), AGENT_TASK, self.params.title, MODE, repeat.is_solved,
                why(repeat, self.params), repeat.as_json(), repeat=number, item_hash=self.task_hash,
            )
        )  # fmt: skip

    def end(self) -> None:
        """Write the share of solved repeats."""
        verdicts = [repeat.is_solved for repeat in self.repeats if repeat.is_solved is not None]
        if verdicts:
            self._write(
                Result(
                    self.job.run_id, self.load_id, self.utc_now(), self.params.title, METRIC, "mean", "share",
                    "pitwall", sum(verdicts) / len(verdicts), len(verdicts),
                )
            )  # fmt: skip

    def _write(self, line: Line) -> None:
        append_record(self.job.out, line)


def _task_hash(params: dict[str, JsonValue]) -> str:
    """Return 16 hex digits over what makes a task: not the path of its folder, nor how often it is repeated."""
    left_out = ("folder", "task", "repeats", "output_kib", "copy_mib", "copy_files")
    content = {name: value for name, value in params.items() if name not in left_out}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def why(repeat: TaskRepeat, params: AgentTaskParams) -> str | None:
    """Return why a repeat is not solved, as a sentence; None if it is solved."""
    agent = f"the agent ended with {exit_text(repeat.exit_code)}" if repeat.exit_code else None
    sentences = {
        TaskEnd.CHECK_FAILED: f"the check ended with {exit_text(repeat.check_exit_code)}",
        TaskEnd.CHECK_LATE: f"the check took longer than {params.check_limit_s:g} s",
        TaskEnd.LATE: f"the agent took longer than {params.time_limit_s:g} s",
        TaskEnd.AGENT_NOT_STARTED: "the agent could not be started",
        TaskEnd.CHECK_NOT_STARTED: "the check could not be started",
        TaskEnd.CANCELLED: "the load was cancelled",
    }
    parts = [*filter(None, [agent, sentences.get(repeat.end)])]
    return ", and ".join(parts) if repeat.end is not TaskEnd.SOLVED else None


def exit_text(exit_code: int | None) -> str:
    """Return 'exit code 1', or 'signal 9'."""
    return f"signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"exit code {exit_code}"


def with_requests(repeat: TaskRepeat, records: Sequence[RequestRecord]) -> TaskRepeat:
    """Return the repeat with the turns and tokens of its requests."""
    turns = [record for record in records if record.error_kind is None]
    return replace(
        repeat,
        turns=len(turns),
        failed_requests=len(records) - len(turns),
        prompt_tokens=_sum([record.prompt_tokens for record in turns]),
        cached_tokens=_sum([_count(record.extra.get("cached_prompt_tokens")) for record in turns]),
        output_tokens=_sum([record.completion_tokens for record in turns]),
        thinking_tokens=_sum([_count(record.extra.get("thinking_tokens")) for record in turns]),
    )


def _count(value: JsonValue) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _sum(values: Sequence[int | None]) -> int | None:
    counts = [value for value in values if value is not None]
    return sum(counts) if counts and len(counts) == len(values) else None
