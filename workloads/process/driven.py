"""Other benchmark tools that Pitwall runs: the command of each, and where it writes its results.

Pitwall writes the command, shows it, runs it under a load's shim, and takes the files in by the importer. docs/loads.md
says which of them were driven to their end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain import JsonValue

BFCL_ONCE = Path(__file__).with_name("bfcl_once.py")
PREFIX = "drive:"  # of the name of a workload that is another tool's
RESULTS = "results"  # the folder within the load's that the tool writes into


class DriveParams(BaseModel):
    """What a person sets; the rest follows from the server."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    executable: str = Field(min_length=1, max_length=4096)  # the tool, by its path
    concurrency: int = Field(default=1, ge=1, le=1024)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=1, le=1_000_000)
    requests: int = Field(default=16, ge=1, le=100_000)
    tasks: str = Field(default="", max_length=500)  # of lm-eval, with commas between
    limit: int | None = Field(default=None, ge=1)  # items a task
    tokenizer: str = Field(default="", max_length=4096)  # a name or a folder, for tools that need one
    endpoint: Literal["chat", "completions"] = "chat"  # of lm-eval
    model_args: str = Field(default="", max_length=2000)  # of lm-eval, behind those that follow from the server
    temperature: float = Field(default=0.001, ge=0.0, le=2.0)  # of BFCL
    most_steps: int = Field(default=20, ge=1, le=1000)  # of BFCL: of a turn
    more: tuple[str, ...] = ()  # words put behind the command as they stand


class DriveJob(BaseModel):
    """One run of a tool against one server, as Pitwall writes it and `./pitwall drive` reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str
    model: str | None = None  # None: the first that /v1/models names
    tool: str
    params: DriveParams
    folder: Path  # of the load
    progress: Path
    inbox: Path

    @property
    def results(self) -> Path:
        return self.folder / RESULTS


@dataclass(frozen=True, slots=True)
class DrivenTool:
    """One tool: `result` is what is imported of its folder, '' the folder itself."""

    name: str
    title: str
    version: str  # that the command was tried with
    result: str
    argv: Callable[[DriveJob], list[str]]
    fields: tuple[str, ...]  # of DriveParams that it takes
    was_driven: bool = False  # here, to its end; else its command is shown and can be run

    @property
    def workload(self) -> str:
        return PREFIX + self.name


def _benchy(job: DriveJob) -> list[str]:
    p = job.params
    return [
        p.executable, "--base-url", f"{job.base_url}/v1", "--model", str(job.model), *_tokenizer(p),
        "--pp", str(p.prompt_tokens), "--tg", str(p.output_tokens), "--concurrency", str(p.concurrency), "--runs", "3",
        "--latency-mode", "none", "--save-result", str(job.results / "result.json"), "--format", "json",
    ]  # fmt: skip


def _vllm_bench(job: DriveJob) -> list[str]:
    p = job.params
    return [
        p.executable, "bench", "serve", "--base-url", job.base_url, "--model", str(job.model), *_tokenizer(p),
        "--dataset-name", "random", "--random-input-len", str(p.prompt_tokens), "--random-output-len",
        str(p.output_tokens), "--ignore-eos", "--request-rate", "inf", "--max-concurrency", str(p.concurrency),
        "--num-prompts", str(p.requests), "--save-result", "--save-detailed", "--result-dir", str(job.results),
        "--result-filename", "result.json",
    ]  # fmt: skip


def _sglang_bench(job: DriveJob) -> list[str]:
    p = job.params
    return [
        p.executable, "-m", "sglang.bench_serving", "--backend", "sglang-oai", "--base-url", job.base_url,
        "--model", str(job.model), *_tokenizer(p), "--dataset-name", "random", "--random-input-len",
        str(p.prompt_tokens), "--random-output-len", str(p.output_tokens), "--num-prompts", str(p.requests),
        "--max-concurrency", str(p.concurrency), "--output-file", str(job.results / "result.jsonl"), "--output-details",
    ]  # fmt: skip


def _guidellm(job: DriveJob) -> list[str]:
    p = job.params
    target = f"kind=openai_http,target={job.base_url},model={job.model},request_format=/v1/chat/completions"
    return [
        p.executable, "run", "--backend", target, "--profile", f"kind=concurrent,streams={p.concurrency}",
        "--constraint", f"kind=max_requests,count={p.requests}", "--data",
        f"kind=synthetic_text,prompt_tokens={p.prompt_tokens},output_tokens={p.output_tokens}",
        *(["--tokenizer", f"kind=huggingface_auto,model={p.tokenizer}"] if p.tokenizer else []),
        "--output", f"kind=json,path={job.results / 'benchmarks.json'}", "--disable-console",
    ]  # fmt: skip


def _aiperf(job: DriveJob) -> list[str]:
    p = job.params
    return [
        p.executable, "profile", "--model", str(job.model), "--url", job.base_url, "--endpoint-type", "chat",
        "--streaming", *_tokenizer(p), "--synthetic-input-tokens-mean", str(p.prompt_tokens), "--output-tokens-mean",
        str(p.output_tokens), "--extra-inputs", "ignore_eos:true", "--concurrency", str(p.concurrency),
        "--request-count", str(p.requests), "--random-seed", "7", "--ui", "simple", "--artifact-dir", str(job.results),
    ]  # fmt: skip


def _lm_eval(job: DriveJob) -> list[str]:
    p = job.params
    is_chat = p.endpoint == "chat"
    path = "chat/completions" if is_chat else "completions"
    asked = f"model={job.model},base_url={job.base_url}/v1/{path},num_concurrent={p.concurrency},max_retries=5"
    return [
        p.executable, "run", "--model", "local-chat-completions" if is_chat else "local-completions",
        "--model_args", ",".join(filter(None, [asked, p.model_args])), "--tasks", p.tasks,
        *(["--apply_chat_template"] if is_chat else []), "--log_samples", "--output_path", str(job.results),
        *(["--limit", str(p.limit)] if p.limit else []),
    ]  # fmt: skip


def _bfcl(job: DriveJob) -> list[str]:
    """Its executable is a Python that has bfcl-eval: the model's name must be made known to it first."""
    p = job.params
    told = [job.base_url, str(job.model), str(job.results), p.tasks, str(p.concurrency), str(p.temperature)]
    return [p.executable, str(BFCL_ONCE), *told, str(p.most_steps)]


def _tokenizer(params: DriveParams) -> list[str]:
    return ["--tokenizer", params.tokenizer] if params.tokenizer else []


LENGTHS = ("concurrency", "prompt_tokens", "output_tokens", "tokenizer")
COUNTED = (*LENGTHS, "requests")
TOOLS: Mapping[str, DrivenTool] = {
    tool.name: tool
    for tool in (
        DrivenTool("llama-benchy", "llama-benchy", "0.4.0", "result.json", _benchy, LENGTHS),
        DrivenTool("vllm-bench", "vllm bench serve", "0.33", "result.json", _vllm_bench, COUNTED),
        DrivenTool(
            "sglang-bench", "sglang.bench_serving", "0.5", "result.jsonl", _sglang_bench, (*LENGTHS, "requests")
        ),
        DrivenTool("guidellm", "GuideLLM", "0.8.1", "benchmarks.json", _guidellm, COUNTED),
        DrivenTool("aiperf", "AIPerf", "0.13", "", _aiperf, COUNTED),
        DrivenTool("lm-eval", "lm-eval", "0.4.13", "", _lm_eval, ("tasks", "limit", "concurrency"), was_driven=True),
        DrivenTool("bfcl", "BFCL", "2026.3", "", _bfcl, ("tasks", "concurrency", "temperature", "most_steps")),
    )
}


def command_of(job: DriveJob) -> list[str]:
    """The words that are run; the person's own stand behind them."""
    return [*TOOLS[job.tool].argv(job), *job.params.more]


def tool_of(workload: str) -> DrivenTool | None:
    """The tool that a workload's name names."""
    return TOOLS.get(workload.removeprefix(PREFIX)) if workload.startswith(PREFIX) else None


def drive_params(params: Mapping[str, JsonValue]) -> DriveParams:
    """Raises pydantic's ValidationError."""
    return DriveParams.model_validate(dict(params))
