"""Records of a load, by Pitwall or by another tool: requests, phases, counters, results and checks.

The conventions are those of domain.py: unknown is None, times are aware UTC datetimes, names carry their units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from domain import JsonValue


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request of a Pitwall workload, measured in the load generator's process; tokens are counted, not chunks."""

    run_id: str
    request_id: str
    workload: str
    phase: str  # 'warmup' | 'measure' | 'probe': a question about the answers, which measures no speed
    prompt_class: str
    stream: int
    concurrency: int
    sent_at: datetime
    ttft_ms: float | None = None  # sent -> first token
    decode_ms: float | None = None  # first token -> the event that ends the answer, with or without text
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
    phase_index: int | None = None  # in the plan, from 0, the warm-up included
    sequence: int | None = None  # index among the requests of its phase, from 0
    since_phase_s: float | None = None  # from the beginning of its phase to its sending, monotonic
    segment: int | None = None  # index of its interval between two counter readings: LoadCounters
    chunk_us: list[int] | None = None  # microseconds between chunks of the answer; the first since sending
    chunk_tokens: list[int] | None = None  # tokens of each chunk by the server's count; None if it reports none


SESSION, TURN = "session", "turn"  # in the `extra` of a request of an agent session: their numbers
IS_EMPTY = "is_empty"  # likewise, true of an answer without text and tool call
LENGTH_REASON = "length_reason"  # in a request's `extra`: why its prompt has only about the requested length
CUT_SHORT = "cut_short"  # in the parameters of a load whose tool was stopped early
DRIVER_OPTIONS = "driven"  # likewise, if Pitwall ran the tool: the options that a person set


@dataclass(frozen=True, slots=True)
class Load:
    """Plan of a load, written when it begins; its outcome is in its phases and requests."""

    run_id: str
    load_id: str
    ts: datetime  # when it began; of a declared load, when it was declared
    tool: str  # 'pitwall'; 'declared': entered by an owner for a run measured elsewhere; else the tool's name
    workload: str
    tool_version: str | None = None
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = field(default_factory=dict)
    planned_requests: int | None = None  # measured ones
    planned_phases: int | None = None  # the warm-up included
    source_name: str | None = None  # the imported file; None: a Pitwall load
    source_sha256: str | None = None  # of that file
    command: list[str] | None = None  # argv of the tool, if Pitwall ran it


@dataclass(frozen=True, slots=True)
class LoadPhase:
    """One phase of a load, written at its end; an interrupted phase is not complete."""

    run_id: str
    load_id: str
    ts: datetime  # its end
    phase_index: int
    title: str
    kind: str  # 'warmup' | 'measure' | 'probe'
    concurrency: int
    began_at: datetime
    duration_s: float  # by the load generator's monotonic clock
    paused_s: float
    planned_requests: int
    is_complete: bool
    client_cpu_s: float | None = None  # CPU seconds of the load generator during the phase
    client_processes: int | None = None  # number of processes that it used by then


@dataclass(frozen=True, slots=True)
class LoadCounters:
    """The engine's counters, read by the load generator while none of its requests was in flight.

    Reading n lies before the requests of segment n and after those of segment n - 1.
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
    requests_running: float | None = None  # of other clients
    accepted_per_pos_total: list[float] | None = None  # index 0 = first draft position


@dataclass(frozen=True, slots=True)
class Result:
    """One statistic of one metric at one measured point, in Pitwall's names and units, by the tool's definition.

    `metric`: output_tps, decode_tps, prompt_tps, request_tps, ttft_ms, tpot_ms, itl_ms, e2e_ms, acceptance_length, ...
    `statistic`: mean, median, min, max, p50 .. p99, total; 'stated' if a text does not name it.
    """

    run_id: str
    load_id: str
    ts: datetime
    point: str  # readable: 'pp2048 tg128 d0 c1', 'class Code', '8 at once'
    metric: str
    statistic: str
    unit: str
    definition: str  # 'pitwall', 'llama-benchy 0.4.0', ...
    value: float | None = None  # None only with a reason
    n: int | None = None  # number of values
    sd: float | None = None  # of these values, ddof 1
    concurrency: int | None = None
    prompt_tokens: int | None = None  # requested, per request
    output_tokens: int | None = None
    depth_tokens: int | None = None  # in the context before the prompt
    reason: str | None = None  # codes: why value or sd is None, or a caveat


@dataclass(frozen=True, slots=True)
class SuiteCheck:
    """One case of a pass-or-fail suite, of tool calls or of vision."""

    run_id: str
    load_id: str
    ts: datetime
    suite: str
    case_name: str
    mode: str  # 'streaming', 'whole', ...
    is_pass: bool | None = None  # None: it could not be tried, `why` has the obstacle
    why: str | None = None
    exchange: dict[str, JsonValue] = field(default_factory=dict)  # request and answer, truncated to a limit
    depth_tokens: int | None = None  # of the history before the question, approximately; None: the suite has no depths
    repeat: int | None = None  # number of the history, from 1
    item_hash: str | None = None  # equal for servers that received the same first request


TOOLS_AT_DEPTH, NEEDLES = "tools-at-depth", "needles"  # names of the workloads that try their cases at depths
AGENT_TASK = "agent-task"  # name of the workload that runs an agent, and the tool and suite of its loads
RECORDED = "recorded"  # name of the workload of a recorder: what other clients sent
AGENT_REPLAY = "agent-replay"  # name of the workload that sends agent sessions by their shape
OWN_ANSWERS = "the server's own"  # setting of a replay: answers in its later prompts
SESSION_WORKLOADS = ("session", "endurance", AGENT_REPLAY, AGENT_TASK)  # whose requests are turns of sessions
AGENT_FOLDER_PREFIX = "agent-"  # of the folder of each repeat, within its load's
FIDELITY = "fidelity"  # name of the workload whose loads write FidelityPosition
NEXT_TOKEN, GREEDY = "next token", "greedy"  # parts of a fidelity load


@dataclass(frozen=True, slots=True)
class FidelityPosition:
    """The server's answer after a fixed prefix: the most likely next tokens, or greedy tokens. It has no text.

    Two loads are paired by (part, text_name, depth_tokens, prefix_tokens); `prefix_hash` shows that both servers had
    the same token ids before them.
    """

    run_id: str
    load_id: str
    ts: datetime
    part: str  # NEXT_TOKEN | GREEDY
    text_kind: str  # 'prose' | 'code' | 'json' | 'dialogue' | 'own'
    text_name: str  # 'prose 03'
    depth_tokens: int  # of the plan: about the tokens before the position
    prefix_tokens: int  # tokens before the position
    prefix_hash: str  # of their ids
    token_ids: list[int]  # NEXT_TOKEN: the most likely ones, the most likely first; GREEDY: the generated ones
    logprobs: list[float]  # of NEXT_TOKEN's tokens, natural logarithms before sampling; empty for GREEDY
    cached_tokens: int | None = None  # of the prefix, not computed anew; None: not reported
    text_token_id: int | None = None  # the text's own next token
    text_logprob: float | None = None  # of that token; None: it is not among the most likely ones


VERDICTS = {True: "pass", False: "fail", None: "not tried"}  # labels of Check.is_pass


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Number of correct items of a task; two are comparable if task, filter and protocol are the same."""

    run_id: str
    load_id: str
    ts: datetime
    task: str
    filter: str  # how the answer is extracted from the text; 'none' if there is no choice
    metric: str  # 'exact_match', 'acc', ...
    correct: int | None = None  # None if items score fractions
    n: int | None = None  # scored items, without errors
    value: float | None = None  # 0..1
    low: float | None = None  # Wilson, 95 %; None if items score fractions
    high: float | None = None
    stderr: float | None = None  # as the tool reports it
    protocol_hash: str | None = None  # equal if items, prompts and sampling are equal
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
    is_error: bool = False  # no answer arrived, which is not a wrong answer
    why: str | None = None
    target: str | None = None
    answer: str | None = None
