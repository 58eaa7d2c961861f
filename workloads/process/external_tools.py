"""List of the external benchmark tools that Pitwall runs, with their parameters and result files.

Pitwall builds the command, shows it, runs it under a load's shim, and imports the result files. docs/loads.md lists the
tools that were tested to completion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain import JsonValue
from workloads.process import external_tool_commands as commands
from workloads.process.drive_job import DriveJob, DriveParams

PREFIX = "drive:"  # of the workload name of an external tool
TQDM_BAR = r"(?P<done>\d+)/(?P<total>\d+) \["  # a progress bar of tqdm


@dataclass(frozen=True, slots=True)
class DrivenTool:
    """An external tool; `result`: the imported file in its folder, '' for the whole folder."""

    name: str
    title: str
    version: str  # the tested one
    result: str
    argv: Callable[[DriveJob], list[str]]
    fields: tuple[str, ...]  # of DriveParams that it uses
    executable: str  # searched on this machine
    progress: str = TQDM_BAR  # pattern of progress in its output; the last match counts
    counts_started: bool = False  # its progress counts started, not completed, items
    takes_key: bool = False  # it reads the server's key from its environment
    notes: str = ""  # requirements and peculiarities, for the user
    next_argv: Callable[[DriveJob], list[str]] | None = None  # a second command, for results

    @property
    def workload(self) -> str:
        return PREFIX + self.name

    def parse_progress(self, output: str) -> tuple[int, int | None] | None:
        """Return completed and total items from the latest output; None if it has no progress."""
        matches = list(re.finditer(self.progress, output))
        if not matches:
            return None
        counts = matches[-1].groupdict()
        return int(counts["done"]) - self.counts_started, int(counts["total"]) if counts.get("total") else None


LENGTHS = ("concurrency", "prompt_tokens", "output_tokens", "tokenizer")
WITH_REQUESTS = (*LENGTHS, "requests")
TOOLS: Mapping[str, DrivenTool] = {
    tool.name: tool
    for tool in (
        DrivenTool(
            "llama-benchy", "llama-benchy", "0.4.0", "", commands.benchy,
            ("concurrency", "prompt_token_counts", "output_token_counts", "tokenizer"), "llama-benchy",
            progress=r"Run (?P<done>\d+)/(?P<total>\d+) \(batch", counts_started=True,
            notes="Makes three runs. Its text comes from a book on the internet, unless --book-url names another one; "
            "the book must be longer than the prompt.",
        ),
        DrivenTool(
            "vllm-bench", "vllm bench serve", "0.32.0", "result.json", commands.vllm_bench, WITH_REQUESTS, "vllm",
            takes_key=True,
            notes="Its prompts are random tokens, which drafts cannot guess. It records its start time only in "
            "whole seconds.",
        ),
        DrivenTool(
            "sglang-bench", "sglang.benchmark.serving", "0.5.23", "result.jsonl", commands.sglang_bench,
            WITH_REQUESTS, "",
            takes_key=True,
            notes="The executable is the Python that SGLang is installed for. Its prompts are random tokens, which "
            "drafts cannot guess. It does not record when a request was sent.",
        ),
        DrivenTool(
            "guidellm", "GuideLLM", "0.8.1", "benchmarks.json", commands.guidellm, WITH_REQUESTS, "guidellm",
            progress=r"successful=(?P<done>\d+)",
        ),
        DrivenTool(
            "aiperf", "AIPerf", "0.13.0", "", commands.aiperf, WITH_REQUESTS, "aiperf",
            progress=r"Profiling: (?P<done>\d+)/(?P<total>\d+) ",
            notes="By default it reads the server's /metrics, which would reset llama.cpp's gauges at each reading; "
            "Pitwall switches that off.",
        ),
        DrivenTool(
            "lm-eval", "lm-eval", "0.4.13", "", commands.lm_eval,
            ("tasks", "limit", "concurrency", "endpoint", "model_args"), "lm_eval",
            takes_key=True,
            progress=r"Requesting API: .{0,60}? " + TQDM_BAR,
            notes="Add your own tasks with --include_path FOLDER. It downloads data from a model hub, unless a task "
            "names files. Completions are sent as text; tasks that compare likelihoods of answers need a tokenizer "
            "in the model args (tokenizer_backend=huggingface,tokenizer=...).",
        ),
        DrivenTool(
            "bfcl", "BFCL", "2026.3.23", "", commands.bfcl, ("tasks", "limit", "concurrency"), "bfcl", takes_key=True,
            next_argv=commands.bfcl_scores,
            notes="Tasks are BFCL's categories or groups of them; 'multi_turn=240' selects its first 240 cases, the "
            "limit that many of each task. Part of a category does not give a leaderboard score. BFCL needs the "
            "package soundfile. It sets no limit on the answer length.",
        ),
    )
}  # fmt: skip


def command_of(job: DriveJob) -> list[str]:
    """Return the tool's argv, followed by the user's own arguments."""
    return [*TOOLS[job.tool].argv(job), *job.params.more]


def commands_of(job: DriveJob) -> list[list[str]]:
    """Return all commands, to be run one after the other."""
    next_argv = TOOLS[job.tool].next_argv
    return [command_of(job), *([next_argv(job)] if next_argv else [])]


def tool_options(job: DriveJob) -> dict[str, JsonValue]:
    """Return the options for the load's record: those that the tool uses, and others that differ from the default."""
    params, changed_params = (
        job.params.model_dump(mode="json"),
        job.params.model_dump(mode="json", exclude_defaults=True),
    )
    recorded_names = {*TOOLS[job.tool].fields, *changed_params} - {"executable"}  # whose path depends on the machine
    return {name: value for name, value in params.items() if name in recorded_names}


def tool_of(workload: str) -> DrivenTool | None:
    """Return the external tool of a workload name; None for Pitwall's own workloads."""
    return TOOLS.get(workload.removeprefix(PREFIX)) if workload.startswith(PREFIX) else None


def drive_params(params: Mapping[str, JsonValue]) -> DriveParams:
    """Parse the parameters; raises pydantic's ValidationError."""
    return DriveParams.model_validate(dict(params))
