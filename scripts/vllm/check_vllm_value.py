"""`make test-vllm`: runs a study of a real vLLM's number of n-gram draft tokens, 2, 4 and 6, from the command line.

The largest must start first, and the prediction for each k from its counters and those of the smallest must contain the
measured value, within the random spread of starts. This is not required if other work kept the servers from a CPU, so
that the study may not rank them. Prints the answer, exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import duckdb

from analysis.study.prediction import slack_of
from demo.presets import free_ports
from scripts.vllm.check_vllm import ENVIRONMENT, READY_WITHIN_S, ROOT
from scripts.vllm.check_vllm_verdict import pinned
from workloads.process.prepare import COMMAND_LINE

VALUES = (2, 4, 6)


def study_text(flags: argparse.Namespace) -> str:
    """Return a study file with one pasted arm."""
    env = ENVIRONMENT | {"PATH": f"{flags.vllm / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    argv = [
        *(f"{name}={value}" for name, value in env.items()),
        *pinned(flags.cpu),
        str(flags.vllm / "bin/vllm"),
        "serve",
    ]
    argv += [str(flags.model), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(free_ports(1)[0])]
    argv += ["--enforce-eager", "--max-model-len", "2048", "--max-num-seqs", "8", "--speculative-config"]
    argv += [json.dumps({"method": "ngram", "num_speculative_tokens": VALUES[0], "prompt_lookup_max": 4})]
    return f"""question = "value"
title = "How many draft tokens?"
ready_timeout_s = {READY_WITHIN_S}
[budget]
runs = {flags.runs}
[[arm]]
name = "n-gram"
command = {json.dumps(shlex.join(argv))}
[[vary]]
field = "num_speculative_tokens"
values = {list(VALUES)}
[[workload]]
name = "demo-stream"
[workload.params]
requests = 4
tokens = {flags.tokens}
endpoint = "completions"
"""


def carry(flags: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Return the answer of the study, run by its own Pitwall."""
    file = scratch / "value.toml"
    file.write_text(study_text(flags))
    process = subprocess.run(
        [sys.executable, str(COMMAND_LINE), "study", "run", str(file), "--json"],
        cwd=ROOT, env=os.environ | {"PITWALL_DATA": str(scratch / "data")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not process.stdout:
        sys.exit(process.stderr)
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def first_arms(scratch: Path) -> list[str]:
    with duckdb.connect(str(scratch / "data/monitor.duckdb"), read_only=True) as store:
        return [row[0] for row in store.sql("SELECT arm FROM runs ORDER BY run_id").fetchall()]


def demands(answer: Mapping[str, Any], order: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each demand as a sentence, and whether it is met."""
    yield "it has an answer", answer["answer"] in ("winner", "same", "unknown")
    yield f"k {VALUES[-1]} starts first, then k {VALUES[0]}", [name[-1] for name in order[:2]] == ["6", "2"]
    is_ranked = not any("cannot be ranked" in str(reason) for reason in answer["reasons"])
    for arm in answer["arms"]:
        if is_ranked and arm["predicted"] and arm["values"]:
            yield f"{arm['name']} is where it was predicted", is_within(arm)


def is_within(arm: Mapping[str, Any]) -> bool:
    """Whether the measured value is within its bounds, or within random spread of them."""
    low, high = arm["predicted"]["interval"]
    value, wide = geometric_mean(arm["values"]), 1 + slack_of(None)
    return (low is None or value > low / wide) and (high is None or value < high * wide)


def row_of(arm: Mapping[str, Any]) -> str:
    low, high = (arm["predicted"] or {"interval": (None, None)})["interval"]
    between = (
        f"{'' if low is None else f'{low:.1f}'} to {'' if high is None else f'{high:.1f}'}" if low or high else "-"
    )
    values = ", ".join(f"{value:.1f}" for value in arm["values"]) or "not started"
    ratio = "-" if arm["ratio"] is None else f"{arm['ratio']:.2f}x"
    return f"| {arm['name']} | {arm['state']} | {between} | {values} | {ratio} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=lambda text: Path(text).absolute(), help="what scripts/install_vllm.sh made")
    parser.add_argument(
        "model", type=lambda text: Path(text).absolute(), help="what scripts/vllm/make_tiny_llama.py wrote"
    )
    parser.add_argument("--runs", type=int, default=8, help="server starts at most")
    parser.add_argument("--tokens", type=int, default=600, help="of each of the four requests")
    parser.add_argument("--cpu", type=int, default=0, help="that the servers have to themselves")
    flags, began_s = parser.parse_args(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        answer, order = carry(flags, Path(scratch)), first_arms(Path(scratch))
    print(
        f"{answer['answer']} {answer['winner'] or ''}: {answer['runs']} starts in {time.monotonic() - began_s:.0f} s\n"
    )
    print("| arm | state | predicted tok/s | measured | to the first |\n|---|---|---|---|---|")
    print("\n".join(map(row_of, answer["arms"])))
    print("\n".join(map(str, answer["reasons"])))
    results = list(demands(answer, order))
    print("\n".join(f"{'ok' if is_met else 'NOT MET'}: {sentence}" for sentence, is_met in results))
    return int(not all(is_met for _, is_met in results))


if __name__ == "__main__":
    sys.exit(main())
