"""Fidelity, tools at depth and needles at 8k and 32k tokens on real llama.cpp servers, f16 against q4_0 KV cache.

`python -m benchmarks.depth_on_llama [TEXTS]`. The model is random and tiny, so no answer is right; what is measured is
that the loads run at these depths, what a coarse KV cache changes there, and how many tokens the servers compute over
the least that they must: every distinct prefix of the prompts once.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx

from analysis.loads.clustered_share import TextEstimate
from analysis.loads.fidelity import Fidelity, FidelityLoad, build_fidelity_loads, compare_fidelity
from demo.model import Shape, random_weights, write_gguf
from demo.vocabulary import build_vocabulary
from load_records import FIDELITY, NEEDLES, TOOLS_AT_DEPTH, FidelityPosition, RequestRecord, SuiteCheck
from tests.demo_engine import DemoServer, running_demo
from tests.ports import free_ports
from tests.workloads.test_runner import Job
from workloads import REGISTRY
from workloads.forecast import forecast
from workloads.requests.records import parse_line

DEPTHS = (8000, 32_000)
CONTEXT_TOKENS = 40_960
SHAPE = Shape(
    layers=2, draft_layers=1, width=128, ff_width=256, heads=4, later_scale=0.5, context_tokens=CONTEXT_TOKENS
)
LIMIT_S = 3600.0
TOKENS_OF_ONE = (
    2.14  # tokens of the tiny vocabulary in place of a trained one's, by which the suites count their depths
)
SUITE_DEPTHS = [round(depth / TOKENS_OF_ONE) for depth in DEPTHS]
SUITES = {
    TOOLS_AT_DEPTH: {"depth_tokens": [0, *SUITE_DEPTHS], "repeats": 1, "max_tokens": 16},
    NEEDLES: {"depth_tokens": SUITE_DEPTHS, "repeats": 1, "max_tokens": 16},
}


class LoadLines:
    """What one load wrote, and how long it took."""

    def __init__(self, server: DemoServer, folder: Path, workload: str, params: dict[str, Any]) -> None:
        folder.mkdir()
        job = Job(folder, server.base_url, run_id=folder.name, workload=workload, params=params)
        began_s, computed_before = time.monotonic(), server.counters()["prompt_tokens_total"]
        process = job.start()
        _, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, errors
        self.seconds = time.monotonic() - began_s
        self.computed_tokens = int(server.counters()["prompt_tokens_total"] - computed_before)
        lines = [parse_line(line) for line in job.out.read_text().splitlines()]
        self.requests = [line for line in lines if isinstance(line, RequestRecord)]
        self.checks = [line for line in lines if isinstance(line, SuiteCheck)]
        self.positions = [line for line in lines if isinstance(line, FidelityPosition)]


def least_tokens(server: DemoServer, workload: str, params: dict[str, Any]) -> int:
    """Return the number of distinct prefixes of all prompts, and one token for each prompt that repeats another."""
    prompts = [_prompt_ids(server, request.sent_messages()) for phase in REGISTRY[workload].plan(params)
               for request in phase.requests]  # fmt: skip
    return distinct_prefixes(prompts)


def _prompt_ids(server: DemoServer, messages: Iterable[dict[str, Any]]) -> list[int]:
    templated = httpx.post(f"{server.base_url}/apply-template", json={"messages": list(messages)}, timeout=60).json()
    body = {"content": templated["prompt"], "parse_special": True}
    ids: list[int] = httpx.post(f"{server.base_url}/tokenize", json=body, timeout=60).json()["tokens"]
    return ids


def distinct_prefixes(prompts: Iterable[Sequence[int]]) -> int:
    """Return how many tokens a perfect prefix cache computes: a prompt's common beginning with another one is read."""
    total, previous = 0, []
    for prompt in sorted(map(list, prompts)):
        pairs = zip(prompt, previous, strict=False)
        shared = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(prompt), len(previous)))
        total += max(1, len(prompt) - shared)
        previous = prompt
    return total


def main() -> None:
    """Print one line per load, then the agreement at each depth."""
    texts = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    params = {"texts": texts, "depths": list(DEPTHS), "positions": 8, "greedy_tokens": 16}
    vocabulary, loads = build_vocabulary(), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.gguf"
        write_gguf(model, "depth", random_weights(SHAPE, vocabulary), SHAPE, SHAPE.layers, vocabulary)
        for start, kv_type in (("f16", "f16"), ("f16 again", "f16"), ("q4_0", "q4_0")):
            argv = ["-m", str(model), "-c", str(CONTEXT_TOKENS), "-ctk", kv_type, "-ctv", kv_type, "-t", "2"]
            with running_demo(argv, free_ports(1)[0], folder / f"{start}.log") as server:
                lines = LoadLines(server, folder / f"fidelity {start}", FIDELITY, params)
                least = forecast(FIDELITY, params, 50.0).computed_prompt_tokens or 0
                _say(start, FIDELITY, lines, least)
                (loads[start],) = build_fidelity_loads(lines.positions)
                if start != "f16 again":
                    for suite, suite_params in SUITES.items():
                        lines = LoadLines(server, folder / f"{suite} {start}", suite, suite_params)
                        _say(start, suite, lines, least_tokens(server, suite, suite_params))
    _compare(loads)


def _say(start: str, workload: str, lines: LoadLines, least: int) -> None:
    computed, longest = lines.computed_tokens, max(row.prompt_tokens or 0 for row in lines.requests)
    print(
        f"{start}: {workload}: {len(lines.requests)} requests, the longest of {longest:,} tokens, {lines.seconds:.0f} "
        f"s, {computed:,} tokens computed of {least:,} at least: {computed / least:.3f}",
        flush=True,
    )
    errors = sorted({row.error_kind for row in lines.requests if row.error_kind})
    if errors:
        print(f"  errors: {', '.join(errors)}")
    if lines.checks:
        verdicts = [check.is_pass for check in lines.checks]
        print(f"  passed {verdicts.count(True)}, failed {verdicts.count(False)}, not tried {verdicts.count(None)}")


def _compare(loads: dict[str, FidelityLoad]) -> None:
    fidelity = compare_fidelity([loads["f16"], loads["f16 again"]], [loads["q4_0"]])
    assert isinstance(fidelity, Fidelity)
    print(f"q4_0 against f16: {_text(fidelity.agreement)}, own {_text(fidelity.floor)}, {fidelity.answer.value}")
    for part in fidelity.by_depth:
        print(f"  {part.label}: {_text(part.agreement)}, own {_text(part.floor)}")
    print(f"  divergence {json.dumps(fidelity.divergence_nats.value)} nats at least")


def _text(estimate: TextEstimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return "not known"
    return f"{100 * estimate.value:.1f} % ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


if __name__ == "__main__":
    main()
