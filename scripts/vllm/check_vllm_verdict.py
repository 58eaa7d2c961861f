"""`make test-vllm`: checks Compare's answers for a real vLLM, without drafts and with n-gram drafts of 2, 4 and 6.

A whole Pitwall launches each configuration several times in rounds, under the five prompts, and then the first one
again next to processes that only compute. The servers and these processes share one CPU: a server that uses all of a
small machine would leave its client too little to measure. The output of `./pitwall compare --json` is compared with an
independent count of the raw request times, and the starved server must be called neither better nor worse. Prints
tables, exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from analysis.guard.rows import RowCode, RowStatus
from commands.explain import explain
from demo.presets import free_ports
from domain import Config
from launcher.checks.launch_request import LaunchRequest
from scripts.recount_requests import Recount, recount
from scripts.vllm.check_vllm import ENVIRONMENT, READY_WITHIN_S
from scripts.vllm.verdict_demands import Demand, of_streams, of_together, table
from scripts.whole_pitwall import CLAIMS, compare, put_in_queue, runs_by_arm, work_off
from workloads import spec_for

PLAIN, BURDENED = "plain", "plain beside a burner"
BURNER = "while True: pass"  # a Python program that occupies one CPU
MARK = {"BESIDE": "a burner"}  # a variable that vLLM does not know: the same server, and an arm of its own
# What a busy machine does to a measurement: with starvation, slow first requests and stalls are its doing too.
MACHINE_ROWS = {RowCode.STARVATION, RowCode.CLIENT, RowCode.NEIGHBOURS, RowCode.WARMUP, RowCode.STALLS}
OBJECTIVES = {"decode_tps": of_streams, "output_tps@4": of_together}
LOAD = {"endpoint": "completions", "parallel_tokens": 1536}  # the model has no chat template, and a context of 2,048


def config_of(flags: argparse.Namespace, drafts: int = 0, marked: Mapping[str, str] | None = None) -> Config:
    """Return the config of a pasted command."""
    env = ENVIRONMENT | {"PATH": f"{flags.vllm / 'bin'}{os.pathsep}{os.environ['PATH']}"} | dict(marked or {})
    argv = [*(f"{name}={value}" for name, value in env.items()), *pinned(flags.cpu), str(flags.vllm / "bin/vllm")]
    argv += ["serve", str(flags.model), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(flags.port)]
    argv += ["--enforce-eager", "--max-model-len", "2048", "--max-num-seqs", "8"]
    if drafts:
        lookup = {"method": "ngram", "num_speculative_tokens": drafts, "prompt_lookup_max": 4}
        argv += ["--speculative-config", json.dumps(lookup)]
    read = explain(shlex.join(argv))
    if read.config is None or read.refused:
        sys.exit(f"Pitwall cannot read the command: {read.refused}")
    return read.config


def pinned(cpu: int) -> list[str]:
    return ["taskset", "-c", str(cpu)]


@contextmanager
def burning(count: int, cpu: int) -> Iterator[None]:
    """Run this many processes that only compute, on the servers' CPU."""
    started = [subprocess.Popen([*pinned(cpu), sys.executable, "-c", BURNER]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def request(flags: argparse.Namespace, name: str, config: Config) -> LaunchRequest:
    load = LOAD | {"token_scale": flags.scale, "rounds": flags.rounds}
    return LaunchRequest(config, name, spec_for("five-prompts", load), ready_timeout_s=READY_WITHIN_S)


def recounts(data: Path, report: Mapping[str, Any]) -> dict[str, list[Recount]]:
    """Recount the starts of each arm."""
    path = "workload/requests.jsonl"
    return {arm["name"]: [recount(data / "runs" / run_id / path) for run_id in arm["runs"]] for arm in report["arms"]}


def check_arms(data: Path, runs: Sequence[str]) -> list[Demand]:
    """Check each arm against the first by both objectives."""
    demands: list[Demand] = []
    for objective, of in OBJECTIVES.items():
        report = compare(data, runs, objective)
        counted = recounts(data, report)
        for answer in report["answers"]:
            print(answer_words(objective, answer), flush=True)
            demands += [
                demand._replace(is_left_open=is_for_the_machine(answer))
                for demand in of(answer, counted[answer["baseline"]], counted[answer["other"]])
            ]
    return demands


def is_for_the_machine(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is refused only because this machine was too busy, as it must be then."""
    refused = {row["code"] for row in answer["guard"] if row["standing"] == RowStatus.MATTERS}
    return answer["answer"] == "not_comparable" and RowCode.STARVATION in refused and refused <= MACHINE_ROWS


def answer_words(objective: str, answer: Mapping[str, Any]) -> str:
    """Return the sentence, and how long the servers of both arms and the client waited for a CPU."""
    rows = {row["code"]: row for row in answer["guard"]}
    waited = rows["starvation"]["values"]["found"].get("starvation_ratio", [[], []])
    sides = " against ".join(
        "/".join("?" if share is None else f"{share:.0%}" for share in side) for side in waited[::-1]
    )
    late = " against ".join(
        "?" if share is None else f"{share:.1%}" for share in rows["client"]["values"]["late"][::-1]
    )
    starved = f"Starvation: {rows['starvation']['standing']}, {sides}"
    return f"{objective}: {answer['sentence']} {starved}; client: {rows['client']['standing']}, {late}."


def claims_about_burdened(data: Path, runs: Sequence[str]) -> list[str]:
    """Return the answers that rank the server next to a burner; there must be none."""
    answers = [(name, answer) for name in OBJECTIVES for answer in compare(data, runs, name)["answers"]]
    for name, answer in answers:
        print(answer_words(name, answer), flush=True)
    return [answer["sentence"] for _, answer in answers if answer["answer"] in CLAIMS]


def launch_all(flags: argparse.Namespace, data: Path) -> None:
    """Launch every arm in rounds, then the plain one next to the burners."""
    requests = [request(flags, PLAIN, config_of(flags))]
    requests += [request(flags, f"n-gram {drafts}", config_of(flags, drafts)) for drafts in flags.drafts]
    put_in_queue(data, requests, flags.repeats)
    work_off(data, flags.limit)
    put_in_queue(data, [request(flags, BURDENED, config_of(flags, marked=MARK))], flags.repeats)
    with burning(flags.burners, flags.cpu):
        work_off(data, flags.limit)


def check(data: Path, left_out: Collection[str]) -> int:
    """Return the number of unmet demands."""
    arms = runs_by_arm(data, left_out)
    plain, burdened = arms.pop(PLAIN), arms.pop(BURDENED)
    demands = check_arms(data, [*plain, *chain(*arms.values())])
    print(f"\n{table(demands)}\n", flush=True)
    claims = claims_about_burdened(data, [*plain, *burdened])
    unmet = [demand for demand in demands if not demand.is_met]
    left_open = sum(demand.is_open for demand in demands)
    print(
        f"{len(demands) - len(unmet) - left_open} of {len(demands)} demands met, {left_open} left open: this machine "
        f"was too busy to rank; {len(claims)} claims about the burdened server"
    )
    return len(unmet) + len(claims)


def flags_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    parser.add_argument("--drafts", type=int, nargs="*", default=[2, 4, 6], help="n-gram drafts, an arm each")
    parser.add_argument("--repeats", type=int, default=2, help="server starts an arm")
    parser.add_argument("--scale", type=float, default=0.5, help="of the five prompts' tokens")
    parser.add_argument("--rounds", type=int, default=2, help="times that the five prompts are sent")
    parser.add_argument("--burners", type=int, default=1)
    parser.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)), help="the servers' own")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for all starts of a part")
    parser.add_argument("--data", type=Path, help="keep Pitwall's data folder here; one that is there is checked again")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="NAME", help="starts that do not count")
    flags = parser.parse_args()
    flags.vllm, flags.model, flags.port = flags.vllm.absolute(), flags.model.absolute(), free_ports(1)[0]
    return flags


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    flags = flags_of()
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        data = flags.data or Path(scratch) / "data"
        if not data.exists():
            launch_all(flags, data)
        unmet = check(data, flags.leave_out)
    print(f"{time.monotonic() - began:.0f} s, load average {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    return int(unmet > 0)


if __name__ == "__main__":
    sys.exit(main())
