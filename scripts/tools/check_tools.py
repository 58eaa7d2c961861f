"""`make test-tools`: drives other benchmark tools and Pitwall's client against an exactly paced server.

Each load is started as on the Run page, under its shim, and its files are imported. Output tok/s and TTFT are recounted
from each client's request records, by one definition, in the server's tokens. Then the same on a real llama.cpp server,
tool and client in turn. Prints tables; exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from demo.model import DEMO, model_files
from demo.presets import demo_config, free_ports
from domain import Config, JsonValue
from scripts.tools import paced_server
from scripts.tools.driving import FinishedLoad, LoadDriver, drive_name, driving, wait_until
from scripts.tools.tool_demands import (
    LoadCounts,
    ReportedAggregates,
    answers_of,
    count_load,
    missed,
    number_text,
    share,
    table,
    truth_of,
)
from workloads.process.external_tools import TOOLS

OURS = "pitwall"
EXECUTABLES = {  # below the folder of tools
    "llama-benchy": "llama-benchy/bin/llama-benchy",
    "vllm-bench": "vllm/bin/vllm",
    "sglang-bench": "sglang/bin/python",
    "guidellm": "guidellm/bin/guidellm",
    "aiperf": "aiperf/bin/aiperf",
}
BFCL = "bfcl/bin/bfcl"
PROMPT, OUTPUT, STREAMS, REQUESTS = 128, 100, 4, 24
BENCHY_RUNS = 3
WHY = {
    OURS: "tokens over the phase: the wall tok/s",
    "llama-benchy": "its tok/s leaves out the time to the first token and the first token: decoding alone",
    "vllm-bench": "tokens over its whole duration: the wall tok/s",
    "sglang-bench": "tokens over its whole duration, its tasks' making inside",
    "guidellm": "tokens over its benchmark's duration: the wall tok/s",
    "aiperf": "over its phase, which begins before the first request is sent",
}


@contextmanager
def paced(folder: Path) -> Iterator[tuple[str, Path]]:
    """Run the stand-in as a process; yield its URL and the file that it writes."""
    port, record = free_ports(1)[0], folder / "record.jsonl"
    server = subprocess.Popen([sys.executable, "-m", "scripts.tools.paced_server", str(port), str(record)])
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{url}/v1/models"), "the stand-in did not answer", 30.0)
        yield url, record
    finally:
        server.terminate()
        server.wait()


@contextmanager
def real(folder: Path) -> Iterator[tuple[str, Config]]:
    """Run the demo's llama.cpp server without speculation; yield its URL and configuration.

    Its prompt cache is off: otherwise one client's repeated prompts would be compared with another's new ones.
    """
    target, _ = model_files(folder / "demo", DEMO)
    port = free_ports(1)[0]
    served = demo_config("plain", target, port, ["--no-cache-prompt"], None)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(served.argv, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{url}/health"), "llama.cpp was not ready", 120.0)
        yield url, served.config
    finally:
        server.terminate()
        server.wait()


def answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def found_tools(tools: Path) -> tuple[dict[str, Path], list[str]]:
    """Return the installed tools, and a sentence for each missing one."""
    installed = {name: tools / path for name, path in EXECUTABLES.items() if (tools / path).exists()}
    missing = [
        f"{TOOLS[name].title}: not at {tools / path}" for name, path in EXECUTABLES.items() if name not in installed
    ]
    return installed, missing


def params_of(tool: str, executable: Path, tokenizer: Path, book: str, streams: int) -> dict[str, JsonValue]:
    lengths: dict[str, JsonValue] = {"prompt_tokens": PROMPT, "output_tokens": OUTPUT, "concurrency": streams}
    of_benchy: list[JsonValue] = ["--book-url", book, "--skip-coherence"]
    more: dict[str, JsonValue] = {"more": of_benchy if tool == "llama-benchy" else []}
    request_count = BENCHY_RUNS * streams if tool == "llama-benchy" else REQUESTS
    return {**lengths, "executable": str(executable), "tokenizer": str(tokenizer), "requests": request_count, **more}


def our_params(streams: int) -> dict[str, JsonValue]:
    """Return the params without a warm-up, so that only the load's requests are sent."""
    lengths: dict[str, JsonValue] = {"prompt_tokens": PROMPT, "output_tokens": OUTPUT, "concurrency": streams}
    return {**lengths, "requests": REQUESTS, "warmup_requests": 1}


def put(on: LoadDriver, client: str, params: dict[str, JsonValue]) -> FinishedLoad:
    return on.put("traffic" if client == OURS else drive_name(client), params)


def reported(on: LoadDriver, load: FinishedLoad) -> ReportedAggregates:
    return ReportedAggregates(on.mean_of(load.load_id, "output_tps"), on.mean_of(load.load_id, "ttft_ms"))


class RealEngineLoad(NamedTuple):
    """One load on the real engine; `prompt_tokens` per request, by the engine's counter."""

    tps: float
    ttft_ms: float
    prompt_tokens: float


def against_paced(flags: argparse.Namespace, installed: dict[str, Path], folder: Path) -> tuple[str, list[str]]:
    """Return the table, and the unmet demands."""
    rows, unmet = [], []
    with paced(folder) as (url, record), driving(folder / "paced", url, Config(engine="other", model="paced")) as on:
        for client in [OURS, *installed]:
            before = len(record.read_text().splitlines())
            params = our_params(STREAMS) if client == OURS else params_of(
                client, installed[client], flags.tokenizer, f"{url}/book.txt", STREAMS)  # fmt: skip
            load = put(on, client, params)
            answered = [answer for answer in answers_of(record, before) if answer["tokens"] == OUTPUT][
                -len(load.requests) :
            ]
            truth = truth_of(answered, STREAMS)
            counts = count_load(load.requests, sum(answer["tokens"] for answer in answered), STREAMS)
            failed = [f"{client}: {request['error_kind']}" for request in load.requests if request["error_kind"]]
            late = [] if load.steps > 2 or client == OURS else [f"{client}: no progress was read"]
            unmet += missed(client, counts, truth) + failed + late
            rows.append(row_of(client, load, counts, truth, reported(on, load)))
            print(rows[-1], flush=True)
        if (flags.tools / BFCL).exists():
            unmet += functions(on, flags.tools / BFCL)
    head = ["client", "version", "requests", "tok/s", "truth", "apart", "TTFT ms, median", "truth", "apart",
            "mean", "truth", "wall tok/s", "truth", "says itself: tok/s", "TTFT ms", "since"]  # fmt: skip
    return table(head, rows), unmet


def row_of(
    client: str, load: FinishedLoad, counts: LoadCounts, truth: LoadCounts, reported: ReportedAggregates
) -> list[str]:
    name, version = (OURS, "this one") if client == OURS else (TOOLS[client].title, TOOLS[client].version)
    return [
        name, load.version or version, str(counts.requests), number_text(counts.tps), number_text(truth.tps),
        share(counts.tps, truth.tps), number_text(counts.ttft_ms), number_text(truth.ttft_ms),
        f"{counts.ttft_ms - truth.ttft_ms:+.1f} ms", number_text(counts.mean_ttft_ms), number_text(truth.mean_ttft_ms),
        number_text(counts.wall_tps), number_text(truth.wall_tps), number_text(reported.tps),
        number_text(reported.ttft_ms), WHY[client],
    ]  # fmt: skip


def functions(on: LoadDriver, executable: Path) -> list[str]:
    """Check BFCL: the stand-in answers in text, so every call is missing, and items without a call are right."""
    params: dict[str, JsonValue] = {"executable": str(executable), "tasks": "simple_python,irrelevance", "limit": 3}
    load = on.put(drive_name("bfcl"), {**params, "concurrency": 2})
    scores = {row["task"]: (row["correct"], row["n"]) for row in on.rows(
        "SELECT task, correct, n FROM accuracy WHERE load_id = ?", load.load_id)}  # fmt: skip
    print(f"BFCL: {scores}")
    return [] if scores == {"simple_python": (0, 3), "irrelevance": (3, 3)} else [f"BFCL: {scores}"]


def interleaved(flags: argparse.Namespace, installed: dict[str, Path], folder: Path) -> tuple[str, list[str]]:
    """Run each tool and Pitwall's client in turn on the real engine."""
    streams, unmet, rows = 2, [], []
    with paced(folder) as (book, _), real(folder) as (url, config), driving(folder / "real", url, config) as on:
        for tool, executable in installed.items():
            pairs: list[tuple[RealEngineLoad, RealEngineLoad]] = []
            for _ in range(flags.rounds):
                own_load = _on_real(on, url, OURS, our_params(streams), streams, unmet)
                params = params_of(tool, executable, flags.tokenizer, f"{book}/book.txt", streams)
                pairs.append((own_load, _on_real(on, url, tool, params, streams, unmet)))
            rows.append(pair_row(tool, pairs))
            print(rows[-1], flush=True)
    head = ["tool", "turns", "tok/s", "ours", "ratio", "prompt tokens", "ours", "TTFT ms, median", "ours", "ratio"]
    return table(head, rows), unmet


def _on_real(
    on: LoadDriver, url: str, client: str, params: dict[str, JsonValue], streams: int, unmet: list[str]
) -> RealEngineLoad:
    before, asked_before = predicted(url), predicted(url, "prompt_tokens_total")
    load = put(on, client, params)
    ended = [row for row in load.requests if row["total_ms"] is not None]
    if len(ended) < len(load.requests):
        why = {f"{row['error_kind']}: {row['error_text']}" for row in load.requests if row["total_ms"] is None}
        unmet.append(f"{client}: {len(ended)} of {len(load.requests)} requests ended well on llama.cpp ({why})")
    if not ended:
        sys.exit(f"{client}: no request ended well on llama.cpp")
    tokens = OUTPUT * len(ended)
    token_count = predicted(url) - before
    if token_count < tokens or token_count > 2 * tokens + 4 * OUTPUT:
        unmet.append(
            f"{client}: llama.cpp counts {token_count} tokens, of which {tokens} are measured: more than a warm-up"
        )
    counts = count_load(ended, tokens, streams)
    prompt = (predicted(url, "prompt_tokens_total") - asked_before) / (token_count / OUTPUT)
    return RealEngineLoad(counts.tps, counts.ttft_ms, prompt)


def predicted(url: str, counter: str = "tokens_predicted_total") -> int:
    """Return the tokens that llama.cpp has generated, or computed for prompts, in ended requests."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return int(float(next(line for line in lines if line.startswith(f"llamacpp:{counter}")).split()[1]))


def pair_row(tool: str, pairs: list[tuple[RealEngineLoad, RealEngineLoad]]) -> list[str]:
    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    def ratio_words(values: list[float]) -> str:
        return f"{mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"

    tps, ttft = [t.tps / o.tps for o, t in pairs], [t.ttft_ms / o.ttft_ms for o, t in pairs]
    return [
        TOOLS[tool].title, str(len(pairs)), number_text(mean([t.tps for _, t in pairs])),
        number_text(mean([o.tps for o, _ in pairs])), ratio_words(tps),
        number_text(mean([t.prompt_tokens for _, t in pairs]), 0),
        number_text(mean([o.prompt_tokens for o, _ in pairs]), 0),
        number_text(mean([t.ttft_ms for _, t in pairs])),
        number_text(mean([o.ttft_ms for o, _ in pairs])), ratio_words(ttft),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", type=Path, help="a folder with an environment for each tool: llama-benchy, vllm, ...")
    parser.add_argument("tokenizer", type=Path, help="a folder with a tokenizer; no model hub is asked")
    parser.add_argument("--rounds", type=int, default=2, help="of each tool beside ours on the real engine")
    parser.add_argument("--only", nargs="*", help="these tools")
    flags = parser.parse_args()
    flags.tools, flags.tokenizer = flags.tools.absolute(), flags.tokenizer.absolute()
    installed, missing = found_tools(flags.tools)
    installed = {name: path for name, path in installed.items() if not flags.only or name in flags.only}
    with tempfile.TemporaryDirectory() as scratch:
        first, unmet = against_paced(flags, installed, Path(scratch))
        print(
            f"\nPaced: TTFT {paced_server.TTFT_MS:g} ms, {paced_server.STEP_MS:g} ms a token\n\n{first}\n", flush=True
        )
        if flags.rounds:
            second, more = interleaved(flags, installed, Path(scratch))
            print(f"\nllama.cpp, in turn with our own client\n\n{second}\n")
            unmet += more
    print("\n".join([*missing, *(f"NOT MET {demand}" for demand in unmet)]) or "all demands met")
    return int(bool(unmet))


if __name__ == "__main__":
    sys.exit(main())
