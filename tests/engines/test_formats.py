"""Every release's periodic line behind every prefix, with every end of line, reads as the line alone does."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import pytest

RATES = "Avg prompt throughput: 12.3 tokens/s, Avg generation throughput: 45.6 tokens/s, Running: 2 reqs, "
USAGE = "GPU KV cache usage: 4.5%"
BATCH = "#running-req: 3, #token: 500, token usage: 0.05, "
TAIL = "cuda graph: True, gen throughput (token/s): 123.45, #queue-req: 1"
TIMING = (
    "slot print_timing: id  3 | task 854 | prompt eval time =  123.45 ms / 96 tokens ( 1.29 ms per token, 777.64 tokens"
    " per second)",
    "slot print_timing: id  3 | task 854 |        eval time = 1000.00 ms / 100 tokens ( 10.00 ms per token, 100.00 "
    "tokens per second)",
    "slot print_timing: id  3 | task 854 |       total time = 1123.45 ms / 196 tokens",
)
DRAFT = "slot print_timing: id  3 | task 854 | draft acceptance = 0.57576 (   19 accepted /    33 generated), "
ITERATION = "iter = 8, global_rank = 0, num_scheduled_requests: 4, "
STATES = "states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 4}"

VLLM = {
    "V0": f"{RATES}Swapped: 1 reqs, Pending: 3 reqs, {USAGE}, CPU KV cache usage: 0.1%.",
    "0.7": f"{RATES}Waiting: 1 reqs, {USAGE}, Prefix cache hit rate: 7.7%",
    "0.8": f"Engine 000: {RATES}Waiting: 1 reqs, {USAGE}, Prefix cache hit rate: 7.7%",
    "0.11": f"Engine 001: {RATES}Waiting: 1 reqs, Preemptions: 4, {USAGE}, Corrupted: 1 reqs, MM cache hit rate: 9.9%",
    "0.20": f"Engine 000: {RATES}Waiting: 5 reqs, Deferred: 4 reqs, {USAGE}",
    "0.33": f"Engine 000: {RATES}Waiting: 5 reqs, Deferred: 4 reqs, KV fetch: 1 waiting to start, 2 in progress, "
    "3 completed waiting, XPU KV cache usage: 4.5%",
    "aggregated": f"2 Engines Aggregated: {RATES}Waiting: 5 reqs, {USAGE}",
    "speculation, V0": "Speculative metrics: Draft acceptance rate: 0.512, System efficiency: 0.433, Number of "
    "speculative tokens: 4, Number of accepted tokens: 100, Number of draft tokens: 200, Number of "
    "emitted tokens: 150.",
    "speculation, 0.9": "SpecDecoding metrics: Draft acceptance rate: 51.2%, Mean acceptance length: 2.50, Accepted: "
    "100 tokens, Drafted: 200 tokens, Per-position acceptance rate: 0.800, 0.500, 0.200",
    "speculation, 0.33": "SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 10.00 tokens/s, "
    "Drafted throughput: 20.00 tokens/s, Accepted: 100 tokens, Drafted: 200 tokens, Per-position acceptance rate: "
    "0.800, 0.500, 0.200, Avg Draft acceptance rate: 50.0%",
}
SGLANG = {
    "0.3 decode": "Decode batch. #running-req: 3, #token: 500, token usage: 0.05, gen throughput (token/s): 123.45, "
    "#queue-req: 1",
    "0.3 prefill": "Prefill batch. #new-seq: 1, #new-token: 20, #cached-token: 5, cache hit rate: 12.34%, token usage: "
    "0.01, #running-req: 2, #queue-req: 0",
    "0.4": f"Decode batch. {BATCH}accept len: 2.35, pre-allocated usage: 0.01, {TAIL}",
    "0.5": f"Decode batch [40], {BATCH}accept len: 2.35, accept rate: 0.45, {TAIL}, ",
    "two pools": "Decode batch, #running-req: 3, #full token: 500, full token usage: 0.05, #swa token: 300, "
    f"swa token usage: 0.30, {TAIL}",
    "disaggregated": f"Decode batch, {BATCH}pre-allocated usage: 0.02, #prealloc-req: 1, #transfer-req: 2, {TAIL}",
    "prefill": "Prefill batch, #new-seq: 1, #new-token: 20, #cached-token: 5, token usage: 0.01, #running-req: 2, "
    "#queue-req: 0, #pending-token: 77, cuda graph: False, input throughput (token/s): 234.56",
}
LLAMACPP = {
    "b8672": "slot print_timing: id  3 | task 854 | \n"
    + "\n".join(line.partition("854 | ")[2] for line in TIMING)
    + "\ndraft acceptance rate = 0.57576 (   19 accepted /    33 generated)",
    "June 2026": "\n".join(
        (*TIMING, f"{DRAFT}mean acceptance length = 2.73, acceptance rate per position = (0.8, 0.5)")
    ),
    "now": "\n".join((*TIMING, f"{DRAFT}mean len = 2.73, acc rate/pos = (0.818, 0.545, 0.364)")),
}
TRTLLM = {
    "2025": f"{ITERATION}elapsed_time = 0.0123s, {STATES}",
    "late 2025": f"{ITERATION}host_step_time = 12.5ms, prev_device_step_time = 11.2ms, {STATES}",
    "2026": f"iter = 8, num_scheduled_requests = 4, kv_cache_util = 12.5%, host_step_time = 12.5ms, {STATES}",
}
LINES = {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMACPP, "trtllm": TRTLLM}

ISO = "2026-05-20 01:43:25"
HEADS: dict[str, dict[str, str]] = {  # what the engine itself puts before its message, by release and process
    "vllm": {
        "0.6": "INFO 05-20 01:43:25 metrics.py:449] ",
        "0.8": "INFO 05-20 01:43:25 [loggers.py:259] ",
        "debug": "DEBUG 05-20 01:43:25 [v1/metrics/loggers.py:271] ",
        "process": "(APIServer_DP1 pid=7) INFO 05-20 01:43:25 [loggers.py:259] ",
        "coloured": "\x1b[1;36m(ApiServer_0 pid=7)\x1b[0;0m INFO 05-20 01:43:25 [loggers.py:259] ",
        "0.33, coloured": "\x1b[0;36m(APIServer pid=7)\x1b[0m \x1b[32mINFO\x1b[0m \x1b[90m05-20 01:43:25\x1b[0m "
        "\x1b[90m[loggers.py:335]\x1b[0m ",
        "colours without ESC": "[1;36m(APIServer pid=7)[0;0m INFO 05-20 01:43:25 [loggers.py:259] ",
        "Ray": "(RayWorkerWrapper pid=99, ip=10.0.0.2) INFO 05-20 01:43:25 [loggers.py:259] ",
        "behind a bar": "Capturing CUDA graphs: 100%|██████████| 67/67 [00:03<00:00, 20.0it/s](APIServer pid=7) INFO "
        "05-20 01:43:25 [loggers.py:259] ",
        "behind a redrawn bar": "\rCapturing CUDA graphs:  50%|█████     | 30/67 [00:01<00:01, 20.0it/s]\rCapturing "
        "CUDA graphs: 100%|██████████| 67/67 [00:03<00:00, 20.0it/s]INFO 05-20 01:43:25 [loggers.py:259] ",
    },
    "sglang": {
        "plain": f"[{ISO}] ",
        "milliseconds": f"[{ISO}.123 TP0] ",
        "0.3": "[01:43:25 TP0] ",
        "0.2": "[gpu=0] ",
        "coloured": f"\x1b[2m[{ISO} TP0]\x1b[0m ",
        "Ray": f"(SGLangEngine pid=123, ip=10.0.0.1) [{ISO} TP0] ",
        "behind a bar": f"Capturing batches (bs=1 avail_mem=5.27 GB): 100%|██████████| 23/23 [00:05<00:00][{ISO} TP0] ",
    },
    "llamacpp": {"old": "", "stamped": "0.12.345.678 I ", "coloured": "\x1b[34m0.12.345.678\x1b[0m \x1b[32mI \x1b[0m"},
    "trtllm": {
        "2025": "[08/07/2025-02:28:52] [TRT-LLM] [I] ",
        "ranks": "[08/07/2025-02:28:52] [TRT-LLM] [RANK 0] [I] [_torch][RANK 0] ",
        "MPI": "[1,0]<stdout>: [08/07/2025-02:28:52] [TRT-LLM] [I] ",
    },
}
AROUND: dict[str, Callable[[str], str]] = {  # what somebody else puts around the whole line
    "nothing": lambda line: line,
    "compose": lambda line: f"server-1  | {line}",
    "compose, coloured": lambda line: f"\x1b[36mserver-1  | \x1b[0m{line}",
    "swarm": lambda line: f"stack_llm.1.abc123def@node1    | {line}",
    "docker -t": lambda line: f"2026-05-20T01:43:25.123456789Z {line}",
    "Kubernetes": lambda line: f"2026-05-20T01:43:25.123456789+02:00 stderr F {line}",
    "kubectl --prefix": lambda line: f"[pod/llm-abc-xyz/server] {line}",
    "journald": lambda line: f"May 20 01:43:25 gpu1 server[812]: {line}",
    "journald short-iso": lambda line: f"2026-05-20T03:43:25+0200 gpu1 server[812]: {line}",
    "syslog": lambda line: f"<34>1 2026-05-20T01:43:25.123456Z gpu1 server 812 - - {line}",
    "json-file": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-05-20T01:43:25.1Z"}),
    "Google": lambda line: json.dumps({"textPayload": line, "timestamp": "2026-05-20T01:43:25.1Z"}),
}
LOGGERS: dict[str, Callable[[str], str]] = {  # what other loggers make of the message
    "name first": lambda text: f"{ISO},123 - vllm.v1.metrics.loggers - INFO - {text}",
    "level first": lambda text: f"{ISO},123 - INFO - loggers.py:457 - vllm.metrics: {text}",
    "no dashes": lambda text: f"{ISO},123 INFO vllm.v1.metrics.loggers: {text}",
    "bare": lambda text: f"INFO:vllm.v1.metrics.loggers:{text}",
    "loguru": lambda text: f"{ISO}.123 | INFO     | vllm.v1.metrics.loggers:log:127 - {text}",
    "JSON": lambda text: json.dumps({"asctime": ISO, "levelname": "INFO", "processName": "APIServer", "message": text}),
    "JSON in json-file": lambda text: AROUND["json-file"](LOGGERS["JSON"](text)),
}
CASES = [(engine, release) for engine, lines in LINES.items() for release in lines]


def fields(read_log: Callable[..., object], engine: str, text: str) -> list[dict[str, object]]:
    samples = read_log(engine, text).samples  # type: ignore[attr-defined]
    return [{key: value for key, value in sample.fields.items() if key != "rank"} for sample in samples]


@pytest.mark.parametrize(("engine", "release"), CASES)
@pytest.mark.wide
def test_behind_every_head_and_prefix(engine: str, release: str, read_log) -> None:
    lines = LINES[engine][release].split("\n")
    plain = fields(read_log, engine, "\n".join(lines) + "\n")
    assert len(plain) == 1 and len(plain[0]) > 3
    missed = [
        (head, around, end)
        for (head, before), (around, wrap), end in product(HEADS[engine].items(), AROUND.items(), ("\n", "\r\n", ""))
        if fields(read_log, engine, (end or "\n").join(wrap(before + line) for line in lines) + end) != plain
    ]
    assert missed == []


@pytest.mark.parametrize("logger", LOGGERS)
@pytest.mark.parametrize(("engine", "release"), [case for case in CASES if case[0] in ("vllm", "sglang")])
def test_through_other_loggers(engine: str, release: str, logger: str, read_log) -> None:
    text = LINES[engine][release]
    assert fields(read_log, engine, LOGGERS[logger](text) + "\n") == fields(read_log, engine, text + "\n")


@pytest.mark.parametrize("release", VLLM)
def test_a_torn_line_gives_no_half_number(release: str, read_log) -> None:
    """A list of rates torn at a comma is shorter, which nothing shows."""
    text, head = VLLM[release], HEADS["vllm"]["0.8"]
    (plain,) = fields(read_log, "vllm", f"{head}{text}\n")
    for cut in range(1, len(text)):
        for read in fields(read_log, "vllm", f"{head}{text[:cut]}\n{text[cut:]}\n"):
            halves = {key: value for key, value in read.items() if value != plain.get(key) and key != "per_position"}
            assert halves == {}, text[:cut]
