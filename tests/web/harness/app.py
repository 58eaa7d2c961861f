"""The Live component without a store: a reader that draws its numbers by formula, behind the real access check and hub.

The numbers are scripted, not measured; they depend on the clock alone, so that a restarted server goes on
where the last one was. PITWALL_DATA and PITWALL_PORT as ever; HARNESS_T0 is the time when the runs were made.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from settings import load_settings
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.signing_key import load_secret
from web.access.tokens import TokenBook
from web.live.hub import LiveHub
from web.live.protocol import LiveMark, LiveMeta, LivePart, LogLine, Series, Tile
from web.server.routes import build_routes

T0 = float(os.environ.get("HARNESS_T0") or time.time())
LOG = [
    (None, "INFO: 127.0.0.1:49152 - POST /v1/chat/completions HTTP/1.1 200 OK", None),
    ("throughput", "slot print_timing: id 0 | eval time = 1893.11 ms / 201 tokens (106.17 tokens per second)", None),
    ("acceptance", "slot print_timing: draft acceptance = 0.71875 (138 accepted / 192 generated)", None),
    (None, "<script>window.injected = true</script><img src=x onerror='window.injected = true'>", None),
    (
        "warning",
        "W slot update: context shift, n_keep = 0, n_left = 511",
        "The context was full: the oldest tokens went.",
    ),
]
ALWAYS = {"server_cpu_cores": (3.2, 0.4), "host_cpu_cores": (4.1, 0.6), "server_rss_bytes": (1.3e9, 2e7)}
DECODING = {
    "decode_tps": (107.0, 6.0),
    "steps_per_s": (25.0, 1.0),
    "tokens_per_step": (4.1, 0.2),
    "requests_running": (1.0, 0.0),
    "requests_waiting": (0.0, 0.0),
    "kv_usage_ratio": (0.032, 0.01),
}
DRAFTING = {"acceptance_length": (4.28, 0.2)}
GPU = {"gpu_power_w": (412.0, 9.0), "gpu_sm_clock_mhz": (2400.0, 30.0)}
NO_DRIVER = "no NVIDIA driver on this machine"
NO_DRAFTS = "speculation is off"


class Scripted:
    """One run by formula: a point a second from `first` to `last` (None: until now)."""

    def __init__(self, run_id: str, number: int, state: str, first: float, last: float | None) -> None:
        self.run_id, self.number, self.state, self.first, self.last = run_id, number, state, first, last
        self.drafts = number % 3 != 0
        self.series = (
            ALWAYS
            | (DECODING if state != "starting" else {})
            | (DRAFTING if self.drafts and state != "starting" else {})
        )
        if os.environ.get("HARNESS_GPU"):
            self.series |= GPU
        elif state == "failed":
            self.series = ALWAYS
        if state == "queued":
            self.series = {}

    def part(self, after: float) -> LivePart:
        last = min(self.last or math.inf, math.floor(time.time()))
        times = list(range(math.floor(max(after + 1, self.first)), math.floor(last) + 1))
        part: LivePart = {"cursor": str(times[-1] if times else after)}
        if times:
            part["series"] = {name: self.points(name, times) for name in self.series}
            part["now"] = {name: Tile(v=series["v"][-1], why=None) for name, series in part["series"].items()}
            part["log"] = [self.line(t) for t in times[-200:]]
            accepted = [0.81 - 0.12 * place + 0.02 * math.sin(times[-1] / 3) for place in range(4)]
            if self.drafts and self.state != "starting":
                part["per_position"] = {"v": accepted, "why": None}
        return part

    def points(self, name: str, times: list[int]) -> Series:
        middle, swing = self.series[name]
        factor = 1 + 0.13 * self.number if name in {"decode_tps", "gpu_power_w"} else 1
        idle = [int(name == "decode_tps" and t % 60 < 8) for t in times]
        values = [
            factor * (middle + swing * math.sin(t / 7 + self.number)) * (0.1 if still else 1)
            for t, still in zip(times, idle, strict=True)
        ]
        return Series(t=[float(t) for t in times], v=[*values], excluded=idle)

    def line(self, t: int) -> LogLine:
        mark, text, why = LOG[t % len(LOG)]
        return {"at": t, "t": float(t), "text": text, "mark": mark, "why": why}

    def marks(self) -> list[LiveMark]:
        asked = ((30, "load", "five-prompts"), (40, "phase", "code"), (60, "phase", "prose"))
        return [LiveMark(t=self.first + after, kind=kind, text=text) for after, kind, text in asked]

    def meta(self) -> LiveMeta:
        absent = {} if os.environ.get("HARNESS_GPU") or self.state == "queued" else dict.fromkeys(GPU, NO_DRIVER)
        if not self.drafts:
            absent |= {"acceptance_length": NO_DRAFTS, "per_position": NO_DRAFTS}
        failed = self.state == "failed"
        return {
            "id": self.run_id,
            "name": f"{'mtp4-kv-fp8' if self.drafts else 'no-speculation'}-{self.number}",
            "color": self.number,
            "state": self.state,
            "phase": "loading weights 34 %" if self.state == "starting" else None,
            "kind": "launched",
            "engine_title": "llama.cpp",
            "chips": ["Q8_0", "KV f16", *(["draft 4"] if self.drafts else []), "4K"],
            "created_t": self.first - 5,
            "started_t": self.first - 4,
            "ready_t": None if self.state in {"queued", "starting", "failed"} else self.first,
            "ended_t": self.last,
            "ceiling": 5 if self.drafts else None,
            "cause": "The GPU had no room for the KV cache of 262,144 tokens." if failed else None,
            "cause_line": "CUDA error: out of memory (ggml-cuda.cu:2317)" if failed else None,
            "tile_basis": "mean while decoding" if self.state == "finished" else "now",
            "absent": absent,
        }


class HarnessReader:
    def __init__(self) -> None:
        runs = [Scripted(f"live-{n}", n, "running", T0 - 100 - 10 * n, None) for n in range(8)]
        runs += [Scripted(f"ghost-{n}", n, "finished", T0 - 5000, T0 - 5000 + 200 + 20 * n) for n in range(3)]
        runs += [Scripted("failed", 4, "failed", T0 - 90, T0 - 60), Scripted("starting", 5, "starting", T0 - 20, None)]
        runs += [Scripted("queued", 6, "queued", T0 - 20, None)]
        runs += [
            Scripted("silent", 6, "running", T0 - 90, T0 - 30),
            Scripted("long", 7, "finished", T0 - 90000, T0 - 50000),
        ]
        self.runs = {run.run_id: run for run in runs}

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        runs = [self.runs[run_id] for run_id in run_ids if run_id in self.runs]
        return {run.run_id: {**run.part(0), "meta": run.meta(), "marks": run.marks()} for run in runs}

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        return {run_id: self.runs[run_id].part(float(cursor)) for run_id, cursor in cursors.items()}


reader = HarnessReader()
hub = LiveHub(reader)
settings = load_settings()
access = access_for(settings, load_secret(settings.secret_path))


async def commit_every(seconds: float) -> None:
    while True:
        hub.on_commit(reader.runs)
        await asyncio.sleep(seconds)


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    async with hub:
        committing = asyncio.create_task(commit_every(0.25))
        print(f"Open http://127.0.0.1:{settings.port}/?token={access.token}", flush=True)  # noqa: T201
        yield
        committing.cancel()
    print("Closed", flush=True)  # noqa: T201


app = st.App(
    Path(__file__).with_name("page.py"),
    lifespan=lifespan,
    routes=build_routes(hub, count_live_runs=lambda: 9, version="harness"),
    middleware=[
        Middleware(
            AuthMiddleware,
            access=access,
            shares=ShareBook(access.secret, access.url),
            sessions=SessionBook(settings.sessions_path),
            tokens=TokenBook(settings.tokens_path),
        )
    ],
)
