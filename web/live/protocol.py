"""What the live push says, word for word: the reader's parts and the messages made of them.

The browser opens `/ws/live?run=<id>&run=<id>` and says first what it has, as `{run id: cursor}` with the last
`cursor` of each run (`{}` when it has nothing): it then gets what it missed of a run, else a snapshot
(no cursor, a foreign one, or too much missed). Times are seconds since the epoch (UTC, fractions);
unknown is null. Every message is one JSON object:

    {"type": "hello", "server_t": 1795210000.12, "beat_s": 5.0, "is_storing": true}
    {"type": "beat", "server_t": ..., "is_storing": true}   at least every beat_s, so that a dead line is noticed
    {"type": "snapshot", "run": ID, "seq": 7, "server_t": ..., **LivePart}   replaces all the browser has of the run
    {"type": "backfill", "run": ID, "seq": 7, "server_t": ..., **LivePart}   adds what it missed and restarts the count
    {"type": "delta", "run": ID, "seq": 8, "server_t": ..., **LivePart}      adds what is new; seq grew by one
    {"type": "gone", "run": ID, "reason": "no run has this id"}
    {"type": "away", "run": ID, "server_t": ..., "reason": "box-2: it does not answer"}   the run is another
                                            Pitwall's, of which nothing comes now; its next message ends it

`is_storing` is false while the store takes nothing (a full disk): then no deltas come.
`seq` grows by one per delta of a run; a gap in it means: reconnect with the last cursor. Points of a series
come in the order of their time, so a browser drops points that are not newer than its newest of that series,
and log lines that are not beyond its last: a backfill may overlap what is there.

A LivePart in JSON:

    cursor      "opaque text that the reader understands"
    meta        {"id", "name", "color", "state", "phase", "kind", "engine_title", "chips": ["MTP 4", ...],
                 "created_t", "started_t", "ready_t", "ended_t", "ceiling": k + 1 or null,
                 "cause", "cause_line", "tile_basis": "now" or "mean while decoding",
                 "absent": {series name: why it has none, "log": why no line comes}}
                 whole, when anything in it changed
    series      {"decode_tps": {"t": [...], "v": [1.5, null, ...], "excluded": [0, 1, ...]}, ...}
                 a null in v is a gap (an outage); excluded (optional) marks idle, mixed or warm-up samples
                 with 1, with 2 those of a stretch too short to be shown at this detail: a line need not break there;
                 `mean` and `count` (optional, of a series that was thinned): how many known samples, excluded as the
                 point is, it stands for, and their mean (null of none)
    now         {tile name: {"v": 107.2, "why": null, "t": 1795210000.0}, "kv_usage_ratio": {"v": null, "why": "..."}}
    per_position {"v": [0.81, 0.55, ...] or null, "why": null}   acceptance per draft position, index 0 = first
    nodes       [{"title", "t", "gpu_count", "gpu_power_w", "gpu_sm_clock_mhz", "cpu_cores", "cores",
                  "memory_used_bytes"}]   the run's other machines, all of them; absent: none
    marks       [{"t": 1795210000.0, "kind": "load", "text": "five-prompts"}, ...]   all of the run's, oldest first,
                 when one was added; kinds: load and load_end (text: the workload), phase (its title), outage;
                 restart, preemption, throttle and collapse have no text and say when such a trouble began
    log         [{"at": 7012, "t": 1795210000.0 or null, "text": "...", "mark": null or a Mark kind,
                  "why": null or one sentence}]   the newest lines last;
                 `at` is the byte where a line begins: a later line has the higher one

Tile names are the series names plus `process_count`, `load_done_ratio` (null without a load), and `server_ttft_ms`,
`server_itl_ms`, `server_e2e_ms` (means by the server's own histograms, of its last minute while it is live); SERIES
lists them with their units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Protocol, TypedDict

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
    """One series: `t` in seconds since the epoch, `v` and `mean` in the unit that SERIES has; the rest as above."""

    t: list[float]
    v: list[float | None]
    excluded: NotRequired[list[int]]
    mean: NotRequired[list[float | None]]
    count: NotRequired[list[int]]


class Tile(TypedDict):
    """One number of a run: `v`, or `why` there is none; `t` is when it was, in seconds since the epoch, where known."""

    v: float | None
    why: str | None
    t: NotRequired[float]


class PerPosition(TypedDict):
    """Acceptance (0 to 1) per draft position, the first one at index 0; or why it is not known."""

    v: list[float] | None
    why: str | None


class LogLine(TypedDict):
    """A line of a run's log: `at` is the byte where it begins, `t` in seconds since the epoch if it has a time."""

    at: int
    t: float | None
    text: str
    mark: str | None
    why: str | None


class LiveNode(TypedDict):
    """A further machine of a run: power summed over its GPUs (W), the lowest of their clocks, CPU in busy cores."""

    title: str
    t: float
    gpu_count: int
    gpu_power_w: float | None
    gpu_sm_clock_mhz: float | None
    cpu_cores: float | None
    cores: int | None
    memory_used_bytes: float | None


class LiveMark(TypedDict):
    """Something that a chart marks at `t`, in seconds since the epoch; the kinds are listed above."""

    t: float
    kind: str
    text: str


class LiveMeta(TypedDict):
    """A run beside its numbers; times in seconds since the epoch, `ceiling` in tokens a step and request."""

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
    """What there is of a run (a snapshot), or what is new of it (a delta: absent keys have not changed)."""

    cursor: str
    meta: LiveMeta
    series: dict[str, Series]
    now: dict[str, Tile]
    per_position: PerPosition
    nodes: list[LiveNode]
    marks: list[LiveMark]
    log: list[LogLine]


class LiveReader(Protocol):
    """Where the hub learns about runs; called from one thread of the hub's, one call at a time."""

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """All there is of each of these runs that exists, thinned to what is drawn, with the cursor after it."""
        ...

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """What came after each run's cursor, with the new one; raises ValueError for a cursor it did not give."""
        ...


def encode(kind: str, server_t: float, **fields: Any) -> str:
    """One message as compact JSON; NaN and infinities are refused, they are bugs of the reader."""
    return json.dumps({"type": kind, "server_t": round(server_t, 3), **fields}, separators=(",", ":"), allow_nan=False)


def is_empty(part: Mapping[str, Any]) -> bool:
    """Whether a delta says nothing but its cursor."""
    series = part.get("series") or {}
    return not any(part.get(key) for key in ("meta", "now", "per_position", "nodes", "marks", "log")) and not any(
        one["t"] for one in series.values()
    )
