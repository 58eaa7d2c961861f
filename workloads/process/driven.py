"""Other benchmark tools that Pitwall runs: which there are, what each takes, where it writes its results.

Pitwall writes the command, shows it, runs it under a load's shim, and takes the files in by the importer. docs/loads.md
says which of them were driven to their end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain import JsonValue
from workloads.process import driven_commands as commands
from workloads.process.drive_job import DriveJob, DriveParams

PREFIX = "drive:"  # of the name of a workload that is another tool's
BAR = r"(?P<done>\d+)/(?P<total>\d+) \["  # as tqdm draws one


@dataclass(frozen=True, slots=True)
class DrivenTool:
    """One tool: `result` is what is imported of its folder, '' the folder itself."""

    name: str
    title: str
    version: str  # that was driven here to its end
    result: str
    argv: Callable[[DriveJob], list[str]]
    fields: tuple[str, ...]  # of DriveParams that it takes
    executable: str  # what is looked for on this machine
    progress: str = BAR  # how its output states its progress: the newest place counts
    is_begun_counted: bool = False  # its progress names what has begun, not what has ended
    takes_key: bool = False  # of the server, from its environment
    needs: str = ""  # that a person would not think of
    then: Callable[[DriveJob], list[str]] | None = None  # a second command, for results

    @property
    def workload(self) -> str:
        return PREFIX + self.name

    def progress_in(self, said: str) -> tuple[int, int | None] | None:
        """What has ended, of how much, by the newest words of its output; None where they do not say."""
        found = list(re.finditer(self.progress, said))
        if not found:
            return None
        counts = found[-1].groupdict()
        return int(counts["done"]) - self.is_begun_counted, int(counts["total"]) if counts.get("total") else None


LENGTHS = ("concurrency", "prompt_tokens", "output_tokens", "tokenizer")
COUNTED = (*LENGTHS, "requests")
TOOLS: Mapping[str, DrivenTool] = {
    tool.name: tool
    for tool in (
        DrivenTool(
            "llama-benchy", "llama-benchy", "0.4.0", "", commands.benchy, LENGTHS, "llama-benchy",
            progress=r"Run (?P<done>\d+)/(?P<total>\d+) \(batch", is_begun_counted=True,
            needs="Three runs of so many streams. Its text comes from a book on the internet, unless --book-url names "
            "another; it must be longer than the prompt.",
        ),
        DrivenTool(
            "vllm-bench", "vllm bench serve", "0.32.0", "result.json", commands.vllm_bench, COUNTED, "vllm",
            takes_key=True,
            needs="Its prompts are random tokens, which drafts cannot guess. It does not say when it began to a "
            "fraction of a second.",
        ),
        DrivenTool(
            "sglang-bench", "sglang.benchmark.serving", "0.5.23", "result.jsonl", commands.sglang_bench, COUNTED, "",
            takes_key=True,
            needs="The executable is the Python that SGLang is installed for. Its prompts are random tokens, which "
            "drafts cannot guess. It does not say when a request was sent.",
        ),
        DrivenTool(
            "guidellm", "GuideLLM", "0.8.1", "benchmarks.json", commands.guidellm, COUNTED, "guidellm",
            progress=r"successful=(?P<done>\d+)",
        ),
        DrivenTool(
            "aiperf", "AIPerf", "0.13.0", "", commands.aiperf, COUNTED, "aiperf",
            progress=r"Profiling: (?P<done>\d+)/(?P<total>\d+) ",
            needs="By itself it reads the server's /metrics, which would restart llama.cpp's gauges at each of its "
            "readings; that is switched off here.",
        ),
        DrivenTool(
            "lm-eval", "lm-eval", "0.4.13", "", commands.lm_eval,
            ("tasks", "limit", "concurrency", "endpoint", "model_args"), "lm_eval",
            takes_key=True,
            progress=r"Requesting API: .{0,60}? " + BAR,
            needs="Tasks of your own are found by --include_path FOLDER. It asks a model hub for data, unless they "
            "name files. Completions are sent as text; a task that compares the likelihood of answers needs a "
            "tokenizer among the model args (tokenizer_backend=huggingface,tokenizer=...).",
        ),
        DrivenTool(
            "bfcl", "BFCL", "2026.3.23", "", commands.bfcl, ("tasks", "limit", "concurrency"), "bfcl", takes_key=True,
            then=commands.bfcl_scores,
            needs="The tasks are BFCL's categories or groups of them; 'multi_turn=240' asks for its first 240 cases, "
            "the limit for so many of each. A part of a category is no score of the leaderboard. The package soundfile "
            "must be installed beside it. It sets no limit to an answer.",
        ),
    )
}  # fmt: skip


def command_of(job: DriveJob) -> list[str]:
    """The words that are run; the person's own stand behind them."""
    return [*TOOLS[job.tool].argv(job), *job.params.more]


def commands_of(job: DriveJob) -> list[list[str]]:
    """All that is run, one after the other."""
    then = TOOLS[job.tool].then
    return [command_of(job), *([then(job)] if then else [])]


def asked_of(job: DriveJob) -> dict[str, JsonValue]:
    """What a person set of the tool, for its load's record: what it takes, and whatever else is not as proposed."""
    params, changed = job.params.model_dump(mode="json"), job.params.model_dump(mode="json", exclude_defaults=True)
    named = {*TOOLS[job.tool].fields, *changed} - {"executable"}  # which lies elsewhere on another machine
    return {name: value for name, value in params.items() if name in named}


def tool_of(workload: str) -> DrivenTool | None:
    """The tool that a workload's name names."""
    return TOOLS.get(workload.removeprefix(PREFIX)) if workload.startswith(PREFIX) else None


def drive_params(params: Mapping[str, JsonValue]) -> DriveParams:
    """Raises pydantic's ValidationError."""
    return DriveParams.model_validate(dict(params))
