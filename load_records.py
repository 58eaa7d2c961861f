"""What a load left behind, ours or that of another tool: its requests, phases, counters, results and checks.

The conventions are those of domain.py: unknown is None, times are aware UTC datetimes, names carry their units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from domain import JsonValue


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request of our own workload, measured in the load generator's process, tokens counted (not chunks)."""

    run_id: str
    request_id: str
    workload: str
    phase: str  # 'warmup' | 'measure'
    prompt_class: str
    stream: int
    concurrency: int
    sent_at: datetime
    ttft_ms: float | None = None  # sent -> first token
    decode_ms: float | None = None  # first token -> the event that ends the answer, whether it shows text or not
    total_ms: float | None = None  # sent -> end of stream
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    token_source: str | None = None  # 'usage' | 'timings' | None when unknown
    chunks: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    finish_reason: str | None = None
    http_status: int | None = None
    error_kind: str | None = None  # refused | timeout | stalled | http | closed | malformed | cancelled | failed
    error_text: str | None = None
    prompt_hash: str | None = None
    sampling: dict[str, JsonValue] = field(default_factory=dict)
    extra: dict[str, JsonValue] = field(default_factory=dict)
    load_id: str | None = None
    phase_index: int | None = None  # of the plan, from 0, the warm-up among them
    sequence: int | None = None  # its place among the requests of its phase, from 0
    since_phase_s: float | None = None  # from the beginning of its phase to its sending, monotonic
    segment: int | None = None  # the stretch between two looks at the counters that it lies in: LoadCounters
    chunk_us: list[int] | None = None  # microseconds from one piece of the answer to the next; the first from sending
    chunk_tokens: list[int] | None = None  # tokens of each piece by the server's own count; None where it gives none


LENGTH_REASON = "length_reason"  # of a request's `extra`: why its prompt is only about as long as was asked for
CUT_SHORT = "cut_short"  # among the parameters of a load whose tool was ended before it was through
DRIVEN = "driven"  # likewise, where Pitwall ran the tool: what a person set of it


@dataclass(frozen=True, slots=True)
class Load:
    """What a load was asked to do, written when it begins; what came of it are its phases and requests."""

    run_id: str
    load_id: str
    ts: datetime  # when it began; of a declared one, when it was declared
    tool: str  # 'pitwall'; 'declared': an owner's word about a run measured elsewhere; else whose file or command
    workload: str
    tool_version: str | None = None
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = field(default_factory=dict)
    planned_requests: int | None = None  # that are measured
    planned_phases: int | None = None  # the warm-up among them
    source_name: str | None = None  # the file that it was imported from; None: a load of our own
    source_sha256: str | None = None  # of that file
    command: list[str] | None = None  # argv of the tool, where we drove one


@dataclass(frozen=True, slots=True)
class LoadPhase:
    """One phase of a load as it went, written at its end; one that was broken off is not complete."""

    run_id: str
    load_id: str
    ts: datetime  # its end
    phase_index: int
    title: str
    kind: str  # 'warmup' | 'measure'
    concurrency: int
    began_at: datetime
    duration_s: float  # by the load generator's monotonic clock
    paused_s: float
    planned_requests: int
    is_complete: bool
    client_cpu_s: float | None = None  # CPU seconds that the load generator used meanwhile
    client_processes: int | None = None  # over which it was spread by then


@dataclass(frozen=True, slots=True)
class LoadCounters:
    """The engine's counters as the load generator read them while none of its requests was in flight.

    Those numbered n stand before the requests of segment n and after those of segment n - 1.
    """

    run_id: str
    load_id: str
    ts: datetime
    segment: int
    definition: str
    engine_index: int = 0
    generation_tokens_total: float | None = None
    first_tokens_total: float | None = None
    inter_token_count_total: float | None = None
    drafts_total: float | None = None
    draft_tokens_total: float | None = None
    accepted_tokens_total: float | None = None
    requests_running: float | None = None  # whoever else's
    accepted_per_pos_total: list[float] | None = None  # index 0 = first draft position


@dataclass(frozen=True, slots=True)
class Result:
    """One statistic of one metric at one measured point, in our names and units, by whoever's definition it is.

    `metric`: output_tps, decode_tps, prompt_tps, request_tps, ttft_ms, tpot_ms, itl_ms, e2e_ms, acceptance_length, ...
    `statistic`: mean, median, min, max, p50 .. p99, total; 'stated' where a text does not say.
    """

    run_id: str
    load_id: str
    ts: datetime
    point: str  # as people read it: 'pp2048 tg128 d0 c1', 'class Code', '8 at once'
    metric: str
    statistic: str
    unit: str
    definition: str  # 'pitwall', 'llama-benchy 0.4.0', ...
    value: float | None = None  # None only with a reason
    n: int | None = None  # values that it was made of
    sd: float | None = None  # of these, ddof 1
    concurrency: int | None = None
    prompt_tokens: int | None = None  # asked for, of one request
    output_tokens: int | None = None
    depth_tokens: int | None = None  # in the context before the prompt
    reason: str | None = None  # codes: why value or sd is None, or what is to be known of it


@dataclass(frozen=True, slots=True)
class Check:
    """One case of a suite that a server passes or not: of tool calls, of what it sees."""

    run_id: str
    load_id: str
    ts: datetime
    suite: str
    case_name: str
    mode: str  # 'streaming', 'whole', ...
    is_pass: bool | None = None  # None: it could not be tried, and `why` says what was in the way
    why: str | None = None
    exchange: dict[str, JsonValue] = field(default_factory=dict)  # request and answer, cut to a bound


VERDICTS = {True: "pass", False: "fail", None: "not tried"}  # of a check, as people read them


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many items of a task were answered right; two are comparable where task, filter and protocol are the same."""

    run_id: str
    load_id: str
    ts: datetime
    task: str
    filter: str  # how the answer is taken out of the text; 'none' where there is no choice
    metric: str  # 'exact_match', 'acc', ...
    correct: int | None = None  # None where items have shares of a point
    n: int | None = None  # items that were scored; errors are not
    value: float | None = None  # 0..1
    low: float | None = None  # Wilson, 95 %; None where items have shares of a point
    high: float | None = None
    stderr: float | None = None  # as the tool gives it
    protocol_hash: str | None = None  # equal where items, prompts and sampling are
    protocol: dict[str, JsonValue] = field(default_factory=dict)
    version: str | None = None  # of the task
    reason: str | None = None  # codes: why value is None, or how many items were errors


@dataclass(frozen=True, slots=True)
class AccuracyItem:
    """One item of a task; runs are paired by (task, filter, item_hash)."""

    run_id: str
    load_id: str
    ts: datetime
    task: str
    filter: str
    item_hash: str
    item_id: str
    score: float | None = None  # 0..1; None: an error
    is_error: bool = False  # no answer came, which is not a wrong one
    why: str | None = None
    target: str | None = None
    answer: str | None = None
