"""`make test-sglang`: runs Pitwall's loads on a real SGLang on the CPU.

Prompts of an exact length, a session whose context is found in the prefix cache, and next tokens with log-probabilities
from SGLang's own `/generate`; then an agent is recorded and replayed (scripts/tools/agent_demands.py). Prints a table,
exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.presets import free_ports
from domain import Config
from scripts.tools.agent_demands import CONTEXT_TOKENS, AgentServer
from scripts.tools.agent_demands import demands as agent_demands
from scripts.tools.driving import LoadDriver, driving
from scripts.tools.tool_demands import table
from scripts.vllm.check_vllm import wait_until
from scripts.vllm.check_vllm_loads import (
    SESSION,
    TEMPLATE,
    Demand,
    counters,
    fidelity,
    grid,
    measured_requests,
    running_server,
)

CACHED = "sglang:cached_tokens_total"
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
COUNTERS = (
    ("prompt tokens", "sglang:prompt_tokens_total", "prompt_tokens"),
    ("answer tokens", "sglang:generation_tokens_total", "completion_tokens"),
)


@contextmanager
def serving(python: Path, model: Path, folder: Path, template: str = TEMPLATE) -> Iterator[str]:
    """Run an SGLang that reports cached tokens; yield its URL."""
    port = free_ports(1)[0]
    (folder / "template.jinja").write_text(template)
    command = [str(python), "-m", "sglang.launch_server", "--model-path", str(model), "--served-model-name", "tiny"]
    command += ["--device", "cpu", "--host", "127.0.0.1", "--port", str(port), "--context-length", str(CONTEXT_TOKENS)]
    command += ["--max-total-tokens", "65536", "--max-running-requests", "8", "--attention-backend", "torch_native"]
    command += ["--chat-template", str(folder / "template.jinja"), "--enable-metrics", "--enable-cache-report"]
    with running_server("SGLang", command, port, folder, os.environ | ENVIRONMENT) as url:
        yield url


def session(on: LoadDriver, url: str, endpoint: str) -> Iterator[Demand]:
    """Check that a protocol states the tokens that the server counts, and that a turn finds the earlier ones cached."""
    before = counters(url)
    rows = measured_requests(on, on.put("session", {**SESSION, "endpoint": endpoint, "seed": len(endpoint)}))
    wait_until(lambda: counters(url) != before, 30.0, "the server counted nothing")
    after = counters(url)
    for title, metric, column in COUNTERS:
        counted, stated = after.get(metric, 0.0) - before.get(metric, 0.0), [row[column] for row in rows]
        yield Demand(f"session, {endpoint}", f"the server counts the same {title}", f"{counted:.0f}, {stated}",
                     counted == sum(value or 0 for value in stated) > 0)  # fmt: skip
    prompt_tokens = [row["prompt_tokens"] for row in rows]
    cached = [row["extra"].get("cached_prompt_tokens") or 0 for row in rows]
    is_found = all(later >= earlier for later, earlier in zip(cached[1:], prompt_tokens[:-1], strict=True))
    yield Demand(f"session, {endpoint}", "each turn finds that of the one before", f"{prompt_tokens}: {cached} cached",
                 is_found)  # fmt: skip


def check(python: Path, model: Path, folder: Path) -> Iterator[Demand]:
    """Check the loads on one server, then a recorded agent on others."""
    config = Config(engine="sglang", launcher="attach", model="tiny", served_model_name="tiny")
    with serving(python, model, folder) as url, driving(folder / "data", url, config) as on:
        yield from grid(on, "completions")
        yield from grid(on, "chat")
        for endpoint in ("chat", "messages", "responses"):
            yield from session(on, url, endpoint)
        yield from fidelity(on)
    agents = AgentServer("sglang", lambda into, template: serving(python, model, into, template), CACHED)
    yield from agent_demands(agents, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sglang", type=Path, help="an environment with SGLang")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        demands = []
        for demand in check(flags.sglang.absolute() / "bin/python", flags.model.absolute(), Path(scratch)):
            demands.append(demand)
            print(f"{demand.load}: {demand.demand}: {demand.seen}", file=sys.stderr, flush=True)
    print(table(["load", "demand", "seen", "met"],
                [[*demand[:3], "yes" if demand.is_met else "NO"] for demand in demands]))  # fmt: skip
    return int(not all(demand.is_met for demand in demands))


if __name__ == "__main__":
    sys.exit(main())
