"""The protocol of the live push: the parts a LiveReader returns and the messages built from them.

The browser opens `/ws/live?run=<id>&run=<id>` and first sends `{run id: cursor}` with the last `cursor` of each run
(`{}` if it has nothing). For each run it gets what it missed, or a snapshot if it has no cursor, an unknown cursor, or
missed too much. Times are seconds since the epoch (UTC, fractions); unknown is null. Every message is one JSON object:

    {"type": "hello", "server_t": 1795210000.12, "beat_s": 5.0, "is_storing": true}
    {"type": "beat", "server_t": ..., "is_storing": true}   at least every beat_s, so that a dead connection is noticed
    {"type": "snapshot", "run": ID, "seq": 7, "server_t": ..., **LivePart}   replaces all the browser has of the run
    {"type": "backfill", "run": ID, "seq": 7, "server_t": ..., **LivePart}   adds what it missed and resets `seq`
    {"type": "delta", "run": ID, "seq": 8, "server_t": ..., **LivePart}      adds what is new; `seq` grew by one
    {"type": "gone", "run": ID, "reason": "no run has this id"}
    {"type": "away", "run": ID, "server_t": ..., "reason": "box-2: it does not answer"}   a run of another Pitwall
                                            that sends nothing now; the next message of the run ends this state

`is_storing` is false while the store accepts no data (a full disk): then no deltas come.
`seq` grows by one per delta of a run; after a gap the browser reconnects with its last cursor. Points of a series
come in order of time, so the browser drops points that are not newer than its newest of that series, and log lines
that are not beyond its last one: a backfill may overlap what the browser already has.

A LivePart in JSON:

    cursor      "opaque text; only the reader parses it"
    meta        {"id", "name", "color", "state", "phase", "kind", "engine_title", "chips": ["MTP 4", ...],
                 "created_t", "started_t", "ready_t", "ended_t", "ceiling": most tokens of a draft, or null,
                 "cause", "cause_line", "tile_basis": "now" or "mean while decoding",
                 "absent": {series name: why it has no points, "log": why no lines come}}
                 sent complete when any field changed
    series      {"decode_tps": {"t": [...], "v": [1.5, null, ...], "excluded": [0, 1, ...]}, ...}
                 null in v is a gap (an outage); excluded (optional) is 1 for idle, mixed or warm-up samples and 2 for
                 those in an interval too short to show at this resolution, where the line need not break;
                 `mean` and `count` (optional, thinned series only): how many known samples with the same exclusion
                 the point stands for, and their mean (null if there are none)
    now         {tile name: {"v": 107.2, "why": null, "t": 1795210000.0}, "kv_usage_ratio": {"v": null, "why": "..."}}
    per_position {"v": [0.81, 0.55, ...] or null, "why": null}   acceptance per draft position, index 0 = first
    nodes       [{"title", "t", "gpu_count", "gpu_power_w", "gpu_sm_clock_mhz", "cpu_cores", "cores",
                  "memory_used_bytes"}]   all other machines of the run; absent if it has none
    marks       [{"t": 1795210000.0, "kind": "load", "text": "five-prompts"}, ...]   all marks of the run, oldest first,
                 sent when one was added; kinds: load, load_end (text: the workload), phase (text: its title), outage;
                 restart, preemption, throttle and collapse have no text and give the time at which the trouble began
    log         [{"at": 7012, "t": 1795210000.0 or null, "text": "...", "mark": null or a Mark kind,
                  "why": null or one sentence}]   the newest lines last;
                 `at` is the byte offset at which a line begins: it grows from line to line

Tile names are the series names plus `process_count`, `load_done_ratio` (null without a load), `client_stream_tps` (the
speed of one stream by the client's clock, of ended runs and where the server tells no speed), and `server_ttft_ms`,
`server_itl_ms`, `server_e2e_ms` (means from the server's own histograms, over the last minute while the run is live);
SERIES lists the series with their units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Protocol

from typing_extensions import TypedDict  # pydantic needs it for Python 3.11

SERIES: dict[str, str] = {
    "decode_tps": "tok/s",
    "tokens_per_step": "tok/step",
    "acceptance_length": "tok/step",
    "steps_per_s": "1/s",  # decode steps, one per running request and engine step
    "requests_running": "",
    "requests_waiting": "",
    "kv_usage_ratio": "ratio",
    "gpu_power_w": "W",
    "gpu_sm_clock_mhz": "MHz",
    "server_cpu_cores": "cores",
    "host_cpu_cores": "cores",
    "server_rss_bytes": "bytes",
    "host_memory_used_bytes": "bytes",
}


class Series(TypedDict):
    """One series: `t` in seconds since the epoch, `v` and `mean` in the unit from SERIES, the others as above."""

    t: list[float]
    v: list[float | None]
    excluded: NotRequired[list[int]]
    mean: NotRequired[list[float | None]]
    count: NotRequired[list[int]]


class Tile(TypedDict):
    """One number of a run: `v`, or `why` it is unknown; `t` is its time in seconds since the epoch, if known."""

    v: float | None
    why: str | None
    t: NotRequired[float]


class PerPosition(TypedDict):
    """Acceptance (0 to 1) per draft position, the first at index 0, or why it is unknown."""

    v: list[float] | None
    why: str | None


class LogLine(TypedDict):
    """A line of a run's log: `at` is its byte offset, `t` its time in seconds since the epoch if it has one."""

    at: int
    t: float | None
    text: str
    mark: str | None
    why: str | None


class LiveNode(TypedDict):
    """Another machine of a run: power summed over its GPUs (W), the lowest of their clocks, CPU in busy cores."""

    title: str
    t: float
    gpu_count: int
    gpu_power_w: float | None
    gpu_sm_clock_mhz: float | None
    cpu_cores: float | None
    cores: int | None
    memory_used_bytes: float | None


class LiveMark(TypedDict):
    """An event that a chart marks at `t`, in seconds since the epoch; the kinds are listed above."""

    t: float
    kind: str
    text: str


class LiveMeta(TypedDict):
    """The metadata of a run; times in seconds since the epoch, `ceiling` in tokens per step and request."""

    id: str
    name: str
    color: int
    state: str
    phase: str | None
    kind: str
    engine_title: str
    chips: list[str]
    created_t: float
    started_t: float | None
    ready_t: float | None
    ended_t: float | None
    ceiling: int | None
    cause: str | None
    cause_line: str | None
    tile_basis: str
    absent: dict[str, str]


class LivePart(TypedDict, total=False):
    """All data of a run (a snapshot) or only the new data (a delta: absent keys have not changed)."""

    cursor: str
    meta: LiveMeta
    series: dict[str, Series]
    now: dict[str, Tile]
    per_position: PerPosition
    nodes: list[LiveNode]
    marks: list[LiveMark]
    log: list[LogLine]


class LiveReader(Protocol):
    """The hub's source of run data; called from one thread of the hub, one call at a time."""

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """Return all data of each of these runs that exists, thinned to what is drawn, with the cursor after it."""
        ...

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """Return what came after each run's cursor, and the new one; raises ValueError for a foreign cursor."""
        ...


def encode(kind: str, server_t: float, **fields: Any) -> str:
    """Return one message as compact JSON; raises ValueError for NaN and infinities, which are bugs of the reader."""
    return json.dumps({"type": kind, "server_t": round(server_t, 3), **fields}, separators=(",", ":"), allow_nan=False)


def is_empty(part: Mapping[str, Any]) -> bool:
    """Whether a delta contains nothing but its cursor."""
    series = part.get("series") or {}
    return not any(part.get(key) for key in ("meta", "now", "per_position", "nodes", "marks", "log")) and not any(
        points["t"] for points in series.values()
    )
