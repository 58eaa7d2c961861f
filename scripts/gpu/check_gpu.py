"""`make test-gpu`: checks Pitwall's GPU readings against other readers, with and without neighbours on the GPU.

`python -m scripts.gpu.check_gpu LLAMA_SERVER MODELS` launches a llama.cpp server on CUDA through a whole Pitwall, under
the five prompts: two arms of one configuration with 16-bit weights, one with 8-bit weights, one next to a process that
only holds GPU memory, and one for each of `--shares` next to a process that works for this share of the time. Meanwhile
other code reads `nvidia-smi` and NVML's energy counter. Prints tables, exits 1 if a demand is not met. Missing models
are created in the folder MODELS. The GPU must otherwise be idle.
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
from pathlib import Path
from typing import Any

from commands.explain import explain
from demo.presets import free_ports
from domain import Config
from launcher.checks.launch_request import LaunchRequest
from scripts.gpu.gpu_demands import Demand, demand_table, demands, formatted_bytes, table
from scripts.gpu.gpu_stretches import Stretch, refusals, stretches
from scripts.gpu.make_gpu_models import make
from scripts.gpu.smi_reader import read_back, reading
from scripts.recount_requests import middle, recount
from scripts.whole_pitwall import CLAIMS, compare, put_in_queue, runs_by_arm, work_off
from workloads import spec_for

PLAIN, AGAIN, QUANTIZED, HELD = "f16", "f16 again", "q8_0", "f16 beside memory"
WORKED = "f16 beside work"
OBJECTIVES = ("decode_tps", "output_tps@4", "tokens_per_j")
REFUSED = ("not_comparable", "no_value")
LOOK_EVERY_S = 1.0
READY_WITHIN_S = 300.0
SAME_RATIO = 0.01


def config_of(flags: argparse.Namespace, model: Path, mark: str = "") -> Config:
    """Return the config of a pasted command; the mark, a variable unknown to llama.cpp, makes it a separate arm."""
    argv = [f"BESIDE={mark.replace(' ', '-')}"] * bool(mark)
    argv += [str(flags.llama_server), "-m", str(model), "--host", "127.0.0.1", "--port", str(flags.port)]
    argv += ["-ngl", "99", "-fa", "off", "-c", "16384", "-np", "4", "-t", "4", "--metrics", "--slots"]
    argv += ["--cache-ram", "0"]  # else each request waits until the others' caches are copied to the host
    read = explain(shlex.join(argv))
    if read.config is None or read.refused:
        sys.exit(f"Pitwall cannot read the command: {read.refused}")
    return read.config


def request(flags: argparse.Namespace, name: str, config: Config) -> LaunchRequest:
    load = {"token_scale": flags.scale, "rounds": flags.rounds, "parallel_tokens": flags.parallel_tokens}
    return LaunchRequest(config, name, spec_for("five-prompts", load), ready_timeout_s=READY_WITHIN_S)


@contextmanager
def neighbour(gib: float, share: float) -> Iterator[None]:
    """Run another process on the GPU."""
    argv = [sys.executable, "-m", "scripts.gpu.gpu_neighbour", "--gib", str(gib), "--share", str(share)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            sys.exit("the neighbour found no GPU")
        yield
    finally:
        process.kill()
        process.wait()


def launch_all(flags: argparse.Namespace, data: Path) -> None:
    """Launch the undisturbed arms in rounds, then those with a neighbour."""
    model = make(flags.models)
    requests = [
        request(flags, PLAIN, config_of(flags, model.f16)),
        request(flags, AGAIN, config_of(flags, model.f16, "nobody")),
        request(flags, QUANTIZED, config_of(flags, model.q8_0)),
    ]
    put_in_queue(data, requests, flags.repeats)
    work_off(data, flags.limit, LOOK_EVERY_S)
    beside = [(HELD, flags.gib, 0.0), *((worked(share), 1.0, share) for share in flags.shares)]
    for name, gib, share in beside:
        put_in_queue(data, [request(flags, name, config_of(flags, model.f16, name))], flags.beside_repeats)
        with neighbour(gib, share):
            work_off(data, flags.limit, LOOK_EVERY_S)


def worked(share: float) -> str:
    return f"{WORKED} {share:g}"


def check_answers(data: Path, arms: Mapping[str, list[str]]) -> Iterator[Demand]:
    """Check Compare's answer for each arm against the plain one."""
    for name in sorted(arms.keys() - {PLAIN}):
        for objective in OBJECTIVES:
            (answer,) = compare(data, [*arms[PLAIN], *arms[name]], objective)["answers"]
            print(f"{objective}: {answer['sentence']} {row_words(answer)}", flush=True)
            yield from of_answer(data, name, objective, answer, arms)


def row_words(answer: Mapping[str, Any]) -> str:
    """Return the guard's rows about the GPU, and those that refuse."""
    about = ("throttling", "gpu_shared")
    rows = [row for row in answer["guard"] if row["code"] in about or row["standing"] in ("matters", "unknown")]
    return "; ".join(f"{row['code']}: {row['standing']} {json.dumps(row['values'].get('found'))}" for row in rows)


def of_answer(
    data: Path, name: str, objective: str, answer: Mapping[str, Any], arms: Mapping[str, list[str]]
) -> Iterator[Demand]:
    about, verdict = f"{name} against {PLAIN}", str(answer["answer"])
    rows = {row["code"]: row["standing"] for row in answer["guard"]}
    if name.startswith(WORKED):
        is_shown = rows["gpu_shared"] in ("matters", "unknown")
        yield Demand(about, objective, verdict, rows["gpu_shared"], "no claim", verdict not in CLAIMS)
        yield Demand(about, f"{objective}: work of others", rows["gpu_shared"], "it worked", "seen", is_shown)
        return
    yield Demand(about, objective, verdict, "", "not refused", verdict not in REFUSED)
    if name == HELD:
        yield Demand(
            about, f"{objective}: memory of others", rows["gpu_shared"], "", "told", rows["gpu_shared"] == "told"
        )
    if name in (AGAIN, HELD):
        yield Demand(about, f"{objective}: A/A", verdict, "", "no claim", verdict not in CLAIMS)
    elif objective == "decode_tps":
        yield from of_quantized(data, about, answer, arms)


def of_quantized(data: Path, about: str, answer: Mapping[str, Any], arms: Mapping[str, list[str]]) -> Iterator[Demand]:
    """A claim whose ratio is that of the raw times, class by class, and the product of its factors."""
    yield Demand(about, "decode_tps: a claim", str(answer["answer"]), "", "better", answer["answer"] == "better")
    path = "workload/requests.jsonl"
    speeds = [
        middle(middle(recount(data / "runs" / run / path).decode_tps.values()) for run in arms[name])
        for name in (PLAIN, QUANTIZED)
    ]
    counted, ratio = speeds[1] / speeds[0], answer["ratio"]
    is_near = ratio is not None and abs(ratio / counted - 1) <= SAME_RATIO
    yield Demand(
        about, "decode_tps: ratio", formatted_bytes(ratio), formatted_bytes(counted), f"{SAME_RATIO:.0%}", is_near
    )
    for class_part in answer["parts"]:
        names = [factor["name"] for factor in class_part["factors"]]
        product = middle_product(class_part["factors"])
        is_met = product is not None and abs(product / class_part["ratio"] - 1) <= SAME_RATIO
        title = f"product of {' and '.join(names) or 'no factors'}"
        yield Demand(
            about,
            f"{class_part['name']}: {title}",
            formatted_bytes(product),
            formatted_bytes(class_part["ratio"]),
            f"{SAME_RATIO:.0%}",
            is_met,
        )


def middle_product(factors: Sequence[Mapping[str, Any]]) -> float | None:
    product = 1.0
    for factor in factors:
        product *= factor["ratio"]
    return product if factors else None


def check(data: Path, shown_by: Path, left_out: Collection[str]) -> int:
    """Return the number of unmet demands."""
    arms, read = runs_by_arm(data, left_out), read_back(shown_by)
    measured = stretches(data, left_out)
    print(
        f"{len(measured)} runs; nvidia-smi wrote {len(read.gpu)} lines, pmon {len(read.ran)} of processes\n", flush=True
    )
    print(run_table(data, measured), "\n", flush=True)
    print(table(["not told", "why"], refusals(data)), "\n", flush=True)
    of_readings, of_answers = demands(measured, read), list(check_answers(data, arms))
    print(f"\n{demand_table(of_readings)}\n\n{demand_table(of_answers)}\n", flush=True)
    unmet = [demand for demand in [*of_readings, *of_answers] if not demand.is_met]
    print(f"{len(of_readings) + len(of_answers) - len(unmet)} demands met, {len(unmet)} not")
    return len(unmet)


def run_table(data: Path, measured: Sequence[Stretch]) -> str:
    """Return a table of the runs with speed, clocks and neighbours."""
    head = ["run", "decode tok/s", "SM clock, median", "of the others' time", "held by others", "J", "tok/J", "bits"]
    rows = []
    for stretch in measured:
        speed = middle(recount(data / "runs" / stretch.run_id / "workload/requests.jsonl").decode_tps.values())
        (load_conditions,) = stretch.facts.conditions
        numbers = (
            speed,
            load_conditions.sm_clock_mhz_median,
            load_conditions.other_gpu_utilization,
            load_conditions.other_gpu_memory_bytes,
            load_conditions.energy_j,
        )
        rows.append(
            [
                stretch.name,
                *map(formatted_bytes, (*numbers, stretch.tokens_per_j)),
                f"0x{load_conditions.throttle_bits or 0:x}",
            ]
        )
    return table(head, rows)


def flags_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("llama_server", type=Path, help="llama.cpp's llama-server, built with CUDA")
    parser.add_argument("models", type=Path, help="a folder for two models of together 6 GB")
    parser.add_argument("--repeats", type=int, default=3, help="server starts of an undisturbed arm")
    parser.add_argument("--beside-repeats", type=int, default=2, help="and of one with a neighbour")
    parser.add_argument(
        "--shares", type=float, nargs="*", default=[0.02, 0.1, 1.0], help="of the time that a neighbour works"
    )
    parser.add_argument("--gib", type=float, default=4.0, help="that the idle neighbour holds")
    parser.add_argument("--scale", type=float, default=0.35, help="of the five prompts' tokens")
    parser.add_argument("--rounds", type=int, default=2, help="times that the five prompts are sent")
    parser.add_argument("--parallel-tokens", type=int, default=800)
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for all starts of a part")
    parser.add_argument("--data", type=Path, help="keep Pitwall's data folder here; one that is there is checked again")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="NAME", help="starts that do not count")
    flags = parser.parse_args()
    flags.llama_server, flags.port = flags.llama_server.absolute(), free_ports(1)[0]
    flags.models = flags.models.absolute()
    return flags


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    flags = flags_of()
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        data = flags.data or Path(scratch) / "data"
        shown_by = data.with_name(f"{data.name}-smi")
        if not data.exists():
            with reading(shown_by):
                launch_all(flags, data)
        unmet = check(data, shown_by, flags.leave_out)
    print(f"{time.monotonic() - began:.0f} s, load average {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    return int(unmet > 0)


if __name__ == "__main__":
    sys.exit(main())
