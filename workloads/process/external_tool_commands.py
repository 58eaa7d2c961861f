"""Command and environment of each external tool that Pitwall runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from redaction import SERVER_API_KEY
from workloads.process.bfcl_launcher import ALL
from workloads.process.drive_job import DriveJob, DriveParams

BENCHY_RUNS = 3
NO_TOKENIZER = (
    "tokenizer_backend=None,tokenized_requests=False"  # for completions: otherwise lm-eval needs transformers
)
HUB_OFF = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
BFCL_LAUNCHER = Path(__file__).resolve().with_name("bfcl_launcher.py")


def benchy(job: DriveJob) -> list[str]:
    """Return llama-benchy's argv: exact answer lengths, result and progress as JSON."""
    p = job.params
    return [
        p.executable, "--base-url", f"{job.base_url}/v1", "--model", str(job.model), *_tokenizer(p),
        "--pp", *map(str, p.prompt_token_counts), "--tg", *map(str, p.output_token_counts), "--exact-tg",
        "--concurrency", str(p.concurrency),
        "--runs", str(BENCHY_RUNS), "--latency-mode", "none", "--save-result", str(job.results / "result.json"),
        "--format", "json", "--emit-progress", str(job.results / "progress.jsonl"),
    ]  # fmt: skip


def vllm_bench(job: DriveJob) -> list[str]:
    """Return the argv of `vllm bench serve`: random prompts, full-length answers, a record of each request."""
    p = job.params
    return [
        p.executable, "bench", "serve", "--base-url", job.base_url, "--model", str(job.model), *_tokenizer(p),
        "--dataset-name", "random", "--random-input-len", str(p.prompt_tokens), "--random-output-len",
        str(p.output_tokens), "--ignore-eos", "--request-rate", "inf", "--max-concurrency", str(p.concurrency),
        "--num-prompts", str(p.requests), "--save-result", "--save-detailed", "--result-dir", str(job.results),
        "--result-filename", "result.json",
    ]  # fmt: skip


def sglang_bench(job: DriveJob) -> list[str]:
    """Return the argv of `sglang.benchmark.serving`: random token ids of exact lengths, a record of each request."""
    p = job.params
    return [
        p.executable, "-m", "sglang.benchmark.serving", "--backend", "sglang-oai", "--base-url", job.base_url,
        "--model", str(job.model), *_tokenizer(p), "--dataset-name", "random-ids", "--random-range-ratio", "1.0",
        "--random-input-len", str(p.prompt_tokens), "--random-output-len", str(p.output_tokens), "--num-prompts",
        str(p.requests), "--max-concurrency", str(p.concurrency), "--output-file", str(job.results / "result.jsonl"),
        "--output-details",
    ]  # fmt: skip


def guidellm(job: DriveJob) -> list[str]:
    """Return GuideLLM's argv: a fixed number of concurrent streams of synthetic text."""
    p = job.params
    target = f"kind=openai_http,target={job.base_url},model={job.model},request_format=/v1/chat/completions"
    return [
        p.executable, "run", "--backend", target, "--profile", f"kind=concurrent,streams={p.concurrency}",
        "--constraint", f"kind=max_requests,count={p.requests}", "--data",
        f"kind=synthetic_text,prompt_tokens={p.prompt_tokens},output_tokens={p.output_tokens}",
        *(["--tokenizer", f"kind=huggingface_auto,model={p.tokenizer}"] if p.tokenizer else []),
        "--output", f"kind=json,path={job.results / 'benchmarks.json'}", "--disable-console",
    ]  # fmt: skip


def aiperf(job: DriveJob) -> list[str]:
    """Return AIPerf's argv, with warm-up requests: its first requests open connections, which adds to their TTFT."""
    p = job.params
    return [
        p.executable, "profile", "--model", str(job.model), "--url", job.base_url, "--endpoint-type", "chat",
        "--streaming", *_tokenizer(p), "--synthetic-input-tokens-mean", str(p.prompt_tokens), "--output-tokens-mean",
        str(p.output_tokens), "--extra-inputs", "ignore_eos:true", "--concurrency", str(p.concurrency),
        "--request-count", str(p.requests),
        "--warmup-request-count", str(p.concurrency), "--random-seed", "7", "--no-server-metrics", "--ui", "simple",
        "--artifact-dir", str(job.results),
    ]  # fmt: skip


def lm_eval(job: DriveJob) -> list[str]:
    """Return lm-evaluation-harness' argv: tasks against the server's API, every sample logged."""
    p = job.params
    is_chat = p.endpoint == "chat"
    path = "chat/completions" if is_chat else "completions"
    model_args = f"model={job.model},base_url={job.base_url}/v1/{path},num_concurrent={p.concurrency},max_retries=5"
    tokenizer_args = NO_TOKENIZER if not is_chat and "tokenizer_backend" not in p.model_args else ""
    return [
        p.executable, "run", "--model", "local-chat-completions" if is_chat else "local-completions",
        "--model_args", ",".join(filter(None, [model_args, tokenizer_args, p.model_args])), "--tasks", p.tasks,
        *(["--apply_chat_template"] if is_chat else []), "--log_samples", "--output_path", str(job.results),
        *(["--limit", str(p.limit)] if p.limit else []),
    ]  # fmt: skip


def bfcl(job: DriveJob) -> list[str]:
    """Return BFCL's argv, through a script that registers the server's model, since BFCL accepts only listed models."""
    p = job.params
    case_arguments = ["--test-category", ",".join(_categories(p))] if bfcl_cases(p) == ALL else ["--run-ids"]
    return [
        *_bfcl_command(job), "generate", "--model", str(job.model), *case_arguments,
        "--num-threads", str(p.concurrency), "--temperature", str(p.temperature),
    ]  # fmt: skip


def bfcl_scores(job: DriveJob) -> list[str]:
    """Return the argv that scores BFCL's answers."""
    arguments = ["evaluate", "--model", str(job.model), "--test-category", ",".join(_categories(job.params))]
    return [*_bfcl_command(job), *arguments, "--partial-eval"]


def bfcl_cases(params: DriveParams) -> str:
    """Return the case selection: 'all', or 'simple_python=20,multi_turn=240'; own numbers override `limit`."""
    categories = [(name, own_limit or str(params.limit or "")) for name, own_limit in _category_limits(params)]
    return (
        ",".join(f"{name}={limit}" if limit else name for name, limit in categories)
        if any(limit for _, limit in categories)
        else ALL
    )


def _categories(params: DriveParams) -> list[str]:
    return [name for name, _ in _category_limits(params)]


def _category_limits(params: DriveParams) -> list[tuple[str, str]]:
    """Return each category with its own number ('multi_turn=240'), '' without one."""
    entries = [task.partition("=") for task in params.tasks.split(",")]
    return [(name.strip(), limit.strip()) for name, _, limit in entries]


def _bfcl_command(job: DriveJob) -> list[str]:
    executable = Path(job.params.executable)  # BFCL, or the Python that it is installed for
    python = executable if executable.name.startswith("python") else executable.with_name("python")
    return [str(python), str(BFCL_LAUNCHER), str(job.params.most_steps), bfcl_cases(job.params)]


def environment(job: DriveJob, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return a tool's environment: the server's key in OPENAI_API_KEY, and model hubs off if they are not needed."""
    key = inherited.get(SERVER_API_KEY) or inherited.get("OPENAI_API_KEY") or "none"
    env = dict(inherited) | {"PYTHONUNBUFFERED": "1", "OPENAI_API_KEY": key}
    env.pop(SERVER_API_KEY, None)  # no tool reads it
    if job.tool == "aiperf":  # with these it does not accept a folder as tokenizer
        return {name: value for name, value in env.items() if name not in HUB_OFF}
    if job.tool == "bfcl":
        env |= {"OPENAI_BASE_URL": f"{job.base_url}/v1", "BFCL_PROJECT_ROOT": str(job.results)}
    if Path(job.params.tokenizer).is_absolute():
        env |= dict.fromkeys(HUB_OFF, "1")
    return env


def _tokenizer(params: DriveParams) -> list[str]:
    return ["--tokenizer", params.tokenizer] if params.tokenizer else []
