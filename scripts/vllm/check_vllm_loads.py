"""`make test-vllm`: runs Pitwall's loads that need vLLM's features on a real vLLM, started as on the Run page.

Prompts of an exact length (/tokenize, also for chats) with answers of full length (ignore_eos); tool calls forced by
its grammar, streamed and not; a session that finds its context in the prefix cache; and the server's histograms
compared with the client's measurements. Prints a table, exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import httpx

from demo.presets import free_ports
from domain import Config, JsonValue
from load_records import GREEDY, LENGTH_REASON, NEXT_TOKEN
from scripts.tools.driving import FinishedLoad, LoadDriver, driving
from scripts.tools.tool_demands import table
from scripts.vllm.check_vllm import ENVIRONMENT, READY_WITHIN_S, end_group, is_ready, wait_until
from workloads.suites.tool_set import BY_NAME

# The random model has no template of its own; what it is asked does not matter, only that it is the same each time.
TEMPLATE = (
    "<s>{% for m in messages %}{{ m.role }}: {{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}\n{% endfor %}"
    "{% for t in tools or [] %}{{ t | tojson }}\n{% endfor %}assistant:"
)
REQUEST = (
    "SELECT prompt_class, prompt_tokens, completion_tokens, ttft_ms, total_ms, error_kind, error_text, "
    "sampling->>'tool_choice' AS choice, "
    "CAST(extra AS VARCHAR) AS extra "
    "FROM requests WHERE load_id = ? AND phase = 'measure' ORDER BY sent_at"
)
GRID: Mapping[str, JsonValue] = {"prompt_tokens": [64, 200], "output_tokens": [16], "concurrency": [1, 2], "repeats": 2}
TURNS = 5
SESSION: Mapping[str, JsonValue] = {"turns": TURNS, "context_tokens": 400, "output_tokens": 8, "send_tools": False}
TRAFFIC: Mapping[str, JsonValue] = {
    "prompt_tokens": 64, "output_tokens": 64, "concurrency": 2, "requests": 12, "warmup_requests": 0,
}  # fmt: skip
# Not strict: a random model does not close the strings of a schema before any limit; its loose arguments are verdicts.
MATRIX: Mapping[str, JsonValue] = {"tool_choice": "required", "max_tokens": 500, "temperature": 1.0}
FIDELITY: Mapping[str, JsonValue] = {"texts": 4, "positions": 2, "depths": [512], "greedy_tokens": 8}
BLOCK_TOKENS = 128  # of vLLM's cache on a CPU: what is cached is whole blocks
CLIENT_MS, SHARE = 200.0, 0.1  # by how much a client may see more than the server: a hop on a busy machine


class Demand(NamedTuple):
    """Demand on one load, the observed value, and whether it is met."""

    load: str
    demand: str
    seen: str
    is_met: bool


@contextmanager
def serving(
    vllm: Path, model: Path, folder: Path, context_tokens: int = 2048, template: str = TEMPLATE
) -> Iterator[str]:
    """Run a vLLM that calls tools and reports cached tokens; yield its URL.

    context_tokens: may exceed what the model was made for, since nobody reads its answers.
    """
    port = free_ports(1)[0]
    (folder / "template.jinja").write_text(template)
    command = [str(vllm / "bin/vllm"), "serve", str(model), "--served-model-name", "tiny", "--port", str(port)]
    command += ["--host", "127.0.0.1", "--enforce-eager", "--max-model-len", str(context_tokens), "--max-num-seqs", "8"]
    command += ["--chat-template", str(folder / "template.jinja"), "--enable-prompt-tokens-details"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    env = (
        os.environ
        | ENVIRONMENT
        | {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1", "PATH": f"{vllm / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    )
    with running_server("vLLM", command, port, folder, env) as url:
        yield url


@contextmanager
def running_server(
    title: str, command: Sequence[str], port: int, folder: Path, env: Mapping[str, str]
) -> Iterator[str]:
    """Run a server until it is ready, its log in the folder; yield its URL, and end it with its descendants."""
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=env, start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or is_ready(port), READY_WITHIN_S, "the server was not ready")
        if process.poll() is not None:
            sys.exit(f"{title} ended with {process.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
        yield f"http://127.0.0.1:{port}"
    finally:
        end_group(process)


def counters(url: str) -> dict[str, float]:
    """Return the counters of /metrics, summed over their labels."""
    totals: dict[str, float] = {}
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        if line.startswith(("vllm:", "sglang:")):
            name, value = line.split("{")[0].split(" ")[0], line.rsplit(" ", 1)[1]
            totals[name] = totals.get(name, 0.0) + float(value)
    return totals


def grid(on: LoadDriver, endpoint: str) -> Iterator[Demand]:
    """Check exact lengths of prompts and answers."""
    rows = measured_requests(on, on.put("grid", {**GRID, "endpoint": endpoint}))
    expected = {f"pp{tokens} tg16 d0": tokens for tokens in (64, 200)}
    apart = {row["prompt_tokens"] - expected[row["prompt_class"]] for row in rows}
    yield Demand(f"grid, {endpoint}", "prompts are as long as asked for", f"{apart} tokens more", apart == {0})
    answers = {row["completion_tokens"] for row in rows}
    yield Demand(f"grid, {endpoint}", "answers have 16 tokens (ignore_eos)", str(answers), answers == {16})
    reasons = {row["extra"].get(LENGTH_REASON) for row in rows}
    yield Demand(f"grid, {endpoint}", "its tokenizer was asked", str(reasons), reasons == {None})


def tools(on: LoadDriver) -> Iterator[Demand]:
    """Check that the grammar makes any model call one of its tools, streamed or not."""
    load = on.put("tool-matrix", MATRIX)
    first = [row for row in measured_requests(on, load) if row["choice"] == "required"]
    called = [[call.get("name") for call in row["extra"].get("tool_calls") or []] for row in first]
    modes = {row["extra"]["mode"] for row, names in zip(first, called, strict=True) if names}
    yield Demand("tool matrix", "forced calls in both modes", ", ".join(sorted(modes)), modes == {"streaming", "whole"})
    unknown = {name for names in called for name in names} - set(BY_NAME)
    yield Demand("tool matrix", "only tools that it was given", str(unknown or "no other"), not unknown)
    none = [row["prompt_class"] for row, names in zip(first, called, strict=True) if not names]
    yield Demand("tool matrix", "a call in every first answer", f"{len(first) - len(none)} of {len(first)}", not none)
    checks = on.rows("SELECT is_pass, why FROM checks WHERE load_id = ?", load.load_id)
    explained = [check for check in checks if check["is_pass"] or check["why"]]
    yield Demand(
        "tool matrix", "a verdict with a reason for each", f"{len(explained)} of {len(checks)}", len(explained) == 14
    )


def session(on: LoadDriver, url: str) -> Iterator[Demand]:
    """Check that a turn finds the previous turn's prompt in the cache, except for the last block."""
    before = counters(url).get("vllm:prefix_cache_hits_total", 0.0)
    rows = measured_requests(on, on.put("session", SESSION))
    hits = counters(url).get("vllm:prefix_cache_hits_total", 0.0) - before
    cached = [row["extra"].get("cached_prompt_tokens") or 0 for row in rows]
    prompt_tokens = [row["prompt_tokens"] for row in rows]
    yield Demand(
        "session",
        "its context grows",
        str(prompt_tokens),
        len(prompt_tokens) == TURNS and prompt_tokens == sorted(set(prompt_tokens)),
    )
    expected = [tokens // BLOCK_TOKENS * BLOCK_TOKENS for tokens in prompt_tokens[:-1]]
    is_found = all(cached_tokens >= least for cached_tokens, least in zip(cached[1:], expected, strict=True))
    yield Demand("session", "each turn finds that of the one before", f"{cached} cached", is_found and max(cached) > 0)
    same = abs(hits - sum(cached)) < 1
    yield Demand("session", "the server counts the same hits", f"{hits:.0f} and {sum(cached)}", same)


def protocols(on: LoadDriver, url: str, endpoint: str) -> Iterator[Demand]:
    """Check that the other protocols state the tokens that the server counts, and find the context in the cache."""
    before = counters(url)
    rows = measured_requests(on, on.put("session", {**SESSION, "endpoint": endpoint, "seed": len(endpoint)}))
    after = counters(url)
    for title, metric, prompt_tokens in (
        ("prompt tokens", "vllm:prompt_tokens_total", [row["prompt_tokens"] for row in rows]),
        ("answer tokens", "vllm:generation_tokens_total", [row["completion_tokens"] for row in rows]),
        ("cached tokens", "vllm:prefix_cache_hits_total", [row["extra"].get("cached_prompt_tokens") for row in rows]),
    ):
        counted, total = after[metric] - before[metric], sum(value or 0 for value in prompt_tokens)
        yield Demand(f"session, {endpoint}", f"the server counts the same {title}", f"{counted:.0f}, {prompt_tokens}",
                     counted == total > 0)  # fmt: skip


def fidelity(on: LoadDriver) -> Iterator[Demand]:
    """Check that next tokens and greedy answers come with log-probabilities, and are those of a second load."""
    loads = [on.put("fidelity", FIDELITY).load_id for _ in range(2)]
    sql = "SELECT part, text_name, prefix_tokens, token_ids, logprobs, cached_tokens FROM fidelity WHERE load_id = ?"
    expected = {(NEXT_TOKEN, 8), (GREEDY, 4)}
    first, second = (
        {(row["part"], row["text_name"], row["prefix_tokens"]): row for row in on.rows(sql, load)} for load in loads
    )
    counts = {(part, sum(key[0] == part for key in first)) for part, _ in expected}
    yield Demand("fidelity", "every position is answered", str(sorted(counts)), counts == expected)
    likely = {len(row["logprobs"]) for key, row in first.items() if key[0] == NEXT_TOKEN}
    yield Demand("fidelity", "20 log-probabilities a position", str(likely), likely == {20})
    same = sum(first[key]["token_ids"][:1] == second[key]["token_ids"][:1] for key in first if key in second)
    yield Demand("fidelity", "a second load chooses the same", f"{same} of {len(first)}", same == len(first))
    cached = [row["cached_tokens"] for row in first.values()]
    yield Demand("fidelity", "the prefix is read from the cache", str(cached), all(cached))


def latencies(on: LoadDriver, url: str) -> Iterator[Demand]:
    """Check that the server's histograms count the client's requests, with slightly lower latencies."""
    before = counters(url)
    rows = measured_requests(on, on.put("traffic", TRAFFIC))
    after = counters(url)
    for metric, name in (
        ("ttft_ms", "vllm:time_to_first_token_seconds"),
        ("total_ms", "vllm:e2e_request_latency_seconds"),
    ):
        count = after[f"{name}_count"] - before[f"{name}_count"]
        yield Demand("traffic", f"{name}: requests", f"{count:.0f} of {len(rows)}", count == len(rows))
        server_ms = 1000 * (after[f"{name}_sum"] - before[f"{name}_sum"]) / count
        client_ms = fmean(row[metric] for row in rows)
        yield Demand("traffic", f"{name}: mean", *_near(server_ms, client_ms))


def histograms(on: LoadDriver) -> Iterator[Demand]:
    """Check Pitwall's reading of the histograms over the run: no request lost, none counted twice."""
    (client,) = on.rows("SELECT count(*) AS n, avg(total_ms) AS mean_ms FROM requests")
    sql = "SELECT n, mean_ms FROM server_latency WHERE metric = 'e2e_ms'"
    wait_until(lambda: any(row["n"] >= client["n"] for row in on.rows(sql)), 60.0, "its histograms lack requests")
    (stored,) = on.rows(sql)
    yield Demand(
        "all loads", "view server_latency: requests", f"{stored['n']} of {client['n']}", stored["n"] == client["n"]
    )
    yield Demand("all loads", "view server_latency: mean", *_near(stored["mean_ms"], client["mean_ms"]))


def _near(server_ms: float, client_ms: float) -> tuple[str, bool]:
    """Return both latencies, and whether the client's is at least the server's, and not much more.

    On a busy machine an answer may wait for a CPU on its way, so that nothing bounds the client's.
    """
    text, load = f"{server_ms:.1f} ms, the client {client_ms:.1f}", os.getloadavg()[0]
    if load > len(os.sched_getaffinity(0)) + 1:
        return f"{text}, not bounded above at a load average of {load:.1f}", client_ms - server_ms >= -1.0
    return text, -1.0 <= client_ms - server_ms <= CLIENT_MS + SHARE * server_ms


def measured_requests(on: LoadDriver, load: FinishedLoad) -> list[dict[str, Any]]:
    """Return the measured requests of a load; exits if one failed."""
    sql = "SELECT 1 FROM results WHERE load_id = ?"  # which a load writes last
    wait_until(lambda: bool(on.rows(sql, load.load_id)), 60.0, "the load's results are not in the store")
    rows = on.rows(REQUEST, load.load_id)
    if failed := [row["error_text"] or row["error_kind"] for row in rows if row["error_kind"]]:
        sys.exit(f"{len(failed)} of {len(rows)} requests failed: {failed[0]}")
    return [row | {"extra": json.loads(row["extra"])} for row in rows]


def check(vllm: Path, model: Path, folder: Path) -> list[Demand]:
    config = Config(engine="vllm", launcher="attach", model="tiny", served_model_name="tiny")
    with serving(vllm, model, folder) as url, driving(folder / "data", url, config) as on:
        demands: list[Demand] = []
        groups = (grid(on, "completions"), grid(on, "chat"), tools(on), session(on, url), latencies(on, url))
        more_groups = (protocols(on, url, "messages"), protocols(on, url, "responses"), fidelity(on))
        for group in (*groups, *more_groups, histograms(on)):
            for demand in group:
                demands.append(demand)
                print(f"{demand.load}: {demand.demand}: {demand.seen}", file=sys.stderr, flush=True)
        return demands


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        demands = check(flags.vllm.absolute(), flags.model.absolute(), Path(scratch))
    print(
        table(
            ["load", "demand", "seen", "met"], [[*demand[:3], "yes" if demand.is_met else "NO"] for demand in demands]
        )
    )
    return int(not all(demand.is_met for demand in demands))


if __name__ == "__main__":
    sys.exit(main())
