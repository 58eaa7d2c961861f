"""The command of each tool that Pitwall drives, and the environment that it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from redaction import SERVER_API_KEY
from workloads.process.drive_job import DriveJob, DriveParams
from workloads.process.own_bfcl import ALL

BENCHY_RUNS = 3
NO_TOKENIZER = "tokenizer_backend=None,tokenized_requests=False"  # of completions: else lm-eval looks for transformers
HUB_OFF = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
OWN_BFCL = Path(__file__).resolve().with_name("own_bfcl.py")


def benchy(job: DriveJob) -> list[str]:
    """llama-benchy's argv: exact answer lengths, result and progress as JSON."""
    p = job.params
    return [
        p.executable, "--base-url", f"{job.base_url}/v1", "--model", str(job.model), *_tokenizer(p),
        "--pp", str(p.prompt_tokens), "--tg", str(p.output_tokens), "--exact-tg", "--concurrency", str(p.concurrency),
        "--runs", str(BENCHY_RUNS), "--latency-mode", "none", "--save-result", str(job.results / "result.json"),
        "--format", "json", "--emit-progress", str(job.results / "progress.jsonl"),
    ]  # fmt: skip


def vllm_bench(job: DriveJob) -> list[str]:
    """`vllm bench serve`'s argv: random prompts, answers to their full length, a record of each request."""
    p = job.params
    return [
        p.executable, "bench", "serve", "--base-url", job.base_url, "--model", str(job.model), *_tokenizer(p),
        "--dataset-name", "random", "--random-input-len", str(p.prompt_tokens), "--random-output-len",
        str(p.output_tokens), "--ignore-eos", "--request-rate", "inf", "--max-concurrency", str(p.concurrency),
        "--num-prompts", str(p.requests), "--save-result", "--save-detailed", "--result-dir", str(job.results),
        "--result-filename", "result.json",
    ]  # fmt: skip


def sglang_bench(job: DriveJob) -> list[str]:
    """`sglang.benchmark.serving`'s argv: random token ids of exact lengths, a record of each request."""
    p = job.params
    return [
        p.executable, "-m", "sglang.benchmark.serving", "--backend", "sglang-oai", "--base-url", job.base_url,
        "--model", str(job.model), *_tokenizer(p), "--dataset-name", "random-ids", "--random-range-ratio", "1.0",
        "--random-input-len", str(p.prompt_tokens), "--random-output-len", str(p.output_tokens), "--num-prompts",
        str(p.requests), "--max-concurrency", str(p.concurrency), "--output-file", str(job.results / "result.jsonl"),
        "--output-details",
    ]  # fmt: skip


def guidellm(job: DriveJob) -> list[str]:
    """GuideLLM's argv: a fixed number of concurrent streams of synthetic text."""
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
    """With requests to warm up: its first ones open its connections, and their TTFT holds that."""
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
    """lm-evaluation-harness' argv: its tasks against the server's API, every sample logged."""
    p = job.params
    is_chat = p.endpoint == "chat"
    path = "chat/completions" if is_chat else "completions"
    asked = f"model={job.model},base_url={job.base_url}/v1/{path},num_concurrent={p.concurrency},max_retries=5"
    texts = NO_TOKENIZER if not is_chat and "tokenizer_backend" not in p.model_args else ""
    return [
        p.executable, "run", "--model", "local-chat-completions" if is_chat else "local-completions",
        "--model_args", ",".join(filter(None, [asked, texts, p.model_args])), "--tasks", p.tasks,
        *(["--apply_chat_template"] if is_chat else []), "--log_samples", "--output_path", str(job.results),
        *(["--limit", str(p.limit)] if p.limit else []),
    ]  # fmt: skip


def bfcl(job: DriveJob) -> list[str]:
    """Through a script of ours that makes the server's model known to it: it takes none that it does not list."""
    p = job.params
    which = ["--test-category", ",".join(_categories(p))] if bfcl_cases(p) == ALL else ["--run-ids"]
    return [
        *_own_bfcl(job), "generate", "--model", str(job.model), *which, "--num-threads", str(p.concurrency),
        "--temperature", str(p.temperature),
    ]  # fmt: skip


def bfcl_scores(job: DriveJob) -> list[str]:
    """What the answers are worth."""
    words = ["evaluate", "--model", str(job.model), "--test-category", ",".join(_categories(job.params))]
    return [*_own_bfcl(job), *words, "--partial-eval"]


def bfcl_cases(params: DriveParams) -> str:
    """How many cases of each category: 'all', or 'simple_python=20,multi_turn=240'; one of its own goes before all."""
    categories = [(name, own or str(params.limit or "")) for name, own in _limited(params)]
    return (
        ",".join(f"{name}={most}" if most else name for name, most in categories)
        if any(m for _, m in categories)
        else ALL
    )


def _categories(params: DriveParams) -> list[str]:
    return [name for name, _ in _limited(params)]


def _limited(params: DriveParams) -> list[tuple[str, str]]:
    """Each category, and the number that stands behind it: 'multi_turn=240'."""
    parts = [task.partition("=") for task in params.tasks.split(",")]
    return [(name.strip(), most.strip()) for name, _, most in parts]


def _own_bfcl(job: DriveJob) -> list[str]:
    named = Path(job.params.executable)  # the tool, or the Python that has it
    python = named if named.name.startswith("python") else named.with_name("python")
    return [str(python), str(OWN_BFCL), str(job.params.most_steps), bfcl_cases(job.params)]


def environment(job: DriveJob, inherited: Mapping[str, str]) -> dict[str, str]:
    """What a tool's process gets: the server's key where tools look for one, and no model hub where none is needed."""
    key = inherited.get(SERVER_API_KEY) or inherited.get("OPENAI_API_KEY") or "none"
    given = dict(inherited) | {"PYTHONUNBUFFERED": "1", "OPENAI_API_KEY": key}
    given.pop(SERVER_API_KEY, None)  # no tool looks there
    if job.tool == "aiperf":  # with these it takes no folder for a tokenizer
        return {name: value for name, value in given.items() if name not in HUB_OFF}
    if job.tool == "bfcl":
        given |= {"OPENAI_BASE_URL": f"{job.base_url}/v1", "BFCL_PROJECT_ROOT": str(job.results)}
    if Path(job.params.tokenizer).is_absolute():
        given |= dict.fromkeys(HUB_OFF, "1")
    return given


def _tokenizer(params: DriveParams) -> list[str]:
    return ["--tokenizer", params.tokenizer] if params.tokenizer else []
