"""Reasons in words: the one place where a code of `reasons.py` becomes a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reasons import Code, Reason, read_reason

Names = Mapping[str, str]  # run id -> name
Values = Mapping[str, Any]

UNKNOWN: Mapping[Code, Callable[[Values], str]] = {
    Code.NO_WINDOW: lambda v: "no window was recorded",
    Code.TOO_FEW_WINDOWS: lambda v: (
        f"only {v['active']} of {v['windows']} intervals were decoding; {v['fewest']} or more are needed"
    ),
    Code.NOT_COMPUTED: lambda v: "its numbers could not be computed, as Pitwall's log says; that is tried again",
    Code.NO_STEP_COUNTED: lambda v: "no step was counted",
    Code.NO_STEP_COUNTER: lambda v: "there is no step counter",
    Code.STEPS_MISSING: lambda v: f"{v['missing']} of {v['active']} decoding intervals have no step count",
    Code.NO_DRAFT_MADE: lambda v: "no draft was made",
    Code.NO_DRAFT_TOLD: lambda v: "the engine reported no drafts",
    Code.DRAFTS_NOT_COUNTED: lambda v: "the server counts no drafts",
    Code.DRAFTS_NOT_LOGGED: lambda v: "the log does not state how many drafts were made",
    Code.REQUESTS_LEFT_OUT: lambda v: "some requests were left out, and the counters cannot leave them out",
    Code.PHASE_NOT_ENDED: lambda v: "the phase did not end",
    Code.NO_COUNTERS_BETWEEN: lambda v: "the counters were not read before and after the requests",
    Code.COUNTERS_DISAGREE: lambda v: (
        f"the counters grew by {v['counters']:,.0f} tokens where our requests had {v['client']:,.0f}"
    ),
    Code.NO_REQUEST_OF_KIND: lambda v: f"no request with {_at_once(v['concurrency'])} ended in all runs",
    Code.NO_STEADY_PART: lambda v: f"nine tenths of {v['concurrency']} requests were never in flight together",
    Code.TOO_FEW_REQUESTS: lambda v: f"{v['requests']} requests: a p95 needs {v['fewest']} a run",
    Code.TOKENS_DIFFER: lambda v: "the answers are not as long in all runs, so their times do not compare",
    Code.NO_OUTPUT_TOKENS: lambda v: "the server did not report how many tokens each answer had",
    Code.NO_ENERGY: lambda v: "the energy of its GPUs was not measured",
    Code.NOT_STARTED_BY_US: lambda v: "Pitwall did not start this server, or it never was ready",
    Code.NO_LOAD: lambda v: "no load of ours was put on it",
    Code.NO_LOG_SPEED: lambda v: "its log shows no window of decoding alone",
    Code.RESULTS_ALONE: lambda v: "only a tool's results are known of it: runs are compared by their requests",
    Code.NO_WHOLE_WINDOW: lambda v: "no whole window holds one request alone",
    Code.NO_USERS_HELD: lambda v: "'how many users does it hold?' was not asked of it",
    Code.NO_KV_CAPACITY: lambda v: "what fits in its KV cache is not known for a length that all state",
    Code.NO_ACCURACY: lambda v: "no accuracy of a task that all have was brought in",
    Code.TOO_FEW_STARTS: lambda v: f"{v['starts']} start of the server: {v['fewest']} or more show a spread",
    Code.INPUTS_UNKNOWN: lambda v: f"not given: {', '.join(INPUTS.get(name, name) for name in v['inputs'])}",
    Code.MODEL_NOT_HERE: lambda v: "the model's folder is not on this machine",
    Code.CONFIG_NOT_READ: lambda v: f"the model's config.json was not read: {v['why']}",
    Code.ATTENTION_NOT_READ: lambda v: (
        f"config.json of a model of type {v['model_type'] or 'unknown'} gives its layers in a way that is not read"
    ),
    Code.NO_SPECULATION: lambda v: "no acceptance was counted while it only decoded",
    Code.TOO_FEW_FOR_BANDS: lambda v: f"{v['windows']} windows: fewer than {v['fewest']} show no bands",
    Code.PHASES_OVERLAP: lambda v: (
        f"its phases sum to {v['phases_s']:.0f} s, more than the {v['total_s']:.0f} s that it took"
    ),
    Code.COUNTER_RESET: lambda v: "its counters began anew",
    Code.NO_ANSWER: lambda v: f"no answer for {v['seconds']} s",
    Code.TOO_MANY_TOKENS_A_STEP: lambda v: (
        f"the counters contradict each other: {v['tokens']} tokens per step, {v['most']} is the most"
    ),
    Code.MORE_TOKENS_THAN_STEPS: lambda v: (
        "the counters contradict each other: more tokens than steps and accepted tokens"
    ),
    Code.MORE_STEPS_THAN_TOKENS: lambda v: "the counters contradict each other: more steps than tokens",
    Code.RANKS_MISSING: lambda v: f"{v['missing']} of {v['ranks']} ranks are missing from this look",
    Code.RANK_IS_NEW: lambda v: f"rank {v['rank']} was not there at the look before",
    Code.RANK_SILENT: lambda v: f"rank {v['rank']} has logged nothing for {v['seconds']} s",
    Code.ACCEPTED_NOT_COUNTED: lambda v: "the server counts no accepted tokens",
    Code.TOKENS_NOT_COUNTED: lambda v: "the server does not count generated or first tokens",
    Code.DECODE_NOT_COUNTED: lambda v: "the server does not count decode tokens as they come",
    Code.SPECULATION_NOT_KNOWN: lambda v: "not known whether the server speculates",
    Code.SLOTS_TELL_NO_TOKENS: lambda v: "the slots do not report the tokens made",
    Code.REQUEST_ENDED_INSIDE: lambda v: "a request ended inside: its last tokens were not seen",
    Code.REQUEST_BETWEEN_LOOKS: lambda v: "a request came and went between two looks: its tokens were not seen",
    Code.SEVERAL_REQUESTS: lambda v: "steps are not told apart while several requests run",
    Code.REQUEST_NOT_THROUGHOUT: lambda v: "steps are known only while one request decodes throughout",
    Code.LOG_TELLS_NO_WINDOW: lambda v: "the log does not say over which time its lines are averaged",
    Code.LOG_COUNTS_NO_STEPS: lambda v: "the log has no step counter",
    Code.FILE_SAYS_NULL: lambda v: "the file says null",
    Code.IMPOSSIBLE_NUMBER: lambda v: "the file gives a number that cannot be",
    Code.NOT_A_NUMBER: lambda v: f"the file says {v['text']!r}, which is no number",
    Code.SD_COUNT_NOT_TOLD: lambda v: "no sd: the tool divides by n, and the file does not state n",
    Code.SPREAD_COUNT_NOT_TOLD: lambda v: f"no sd: ± {v['spread']}, of how many values is not stated",
    Code.SD_OF_ONE_VALUE: lambda v: "no sd: one value has none",
    Code.SD_OF_ONE_PHASE: lambda v: "no sd: it is of one phase",
    Code.SD_IS_WEIGHTED: lambda v: "no sd: the tool weighs requests by their tokens",
    Code.SD_IS_OVER_TIME: lambda v: "no sd: it is of the rate over time",
    Code.VALUES_MISSING: lambda v: f"{v['present']} of {v['wanted']} values are there",
    Code.COUNTS_CHUNKS: lambda v: f"before 0.4.0 {CHUNKS}",
    Code.MAY_COUNT_CHUNKS: lambda v: f"its version is not stated: before 0.4.0 {CHUNKS}",
    Code.COUNTS_PIECES: lambda v: "of pieces of answers in its best second, not tokens: with speculation too low",
    Code.STATED_AS_RANGE: lambda v: "stated as a range",
    Code.STATED_AS_ABOUT: lambda v: "about, as stated",
    Code.NO_REQUEST_COUNTED: lambda v: "no request ended with its tokens counted",
    Code.LIMITS_AT_P95: lambda v: f"limits at p95: TTFT {v['ttft_ms']} ms, TPOT {v['tpot_ms']} ms",
    Code.LOWEST_RUNG_BROKE: lambda v: f"even {v['users']} at once broke a limit",
    Code.ITEMS_HAVE_SHARES: lambda v: "no interval: items have shares of a point",
    Code.RIGHT_ITEMS_NOT_TOLD: lambda v: "no interval: the file does not state how many items were right",
    Code.ITEM_COUNT_NOT_TOLD: lambda v: "no interval: the text does not state the number of items",
    Code.NO_SHARE_TOLD: lambda v: "the file gives no share between 0 and 1",
    Code.SHARE_ABOVE_ONE: lambda v: "more than 100 %",
    Code.ITEM_COUNTS_NOT_TOLD: lambda v: "the file does not say how many of how many",
    Code.LENGTH_APPROXIMATE: lambda v: f"prompts are about as long as asked for, by no tokenizer: {v['said']}",
    Code.ITEMS_WITHOUT_ANSWER: lambda v: f"{v['errors']} of {v['items']} items got no answer: errors, not answers",
    Code.NO_ITEM_SCORED: lambda v: "no item was scored",
    Code.ERRORS_MAY_COUNT_RIGHT: lambda v: (
        "items that got no answer may count as right ones: only the result file says"
    ),
    Code.NOT_SCORED_YET: lambda v: f"not scored yet: {v['items']} items, {v['errors']} of them errors",
    Code.CLIENT_SEES_NO_STEPS: lambda v: "a client sees chunks, not the engine's steps",
    Code.CLIENT_NOT_TOLD: lambda v: "not reported to a client",
    Code.CLIENT_KNOWS_OWN_REQUESTS: lambda v: "a client knows only its own requests",
    Code.NOT_ON_LOG_LINES: lambda v: "not on the lines of the log",
    Code.LOG_TOKENS_PADDED: lambda v: (
        "the line prints no rate, and its generation tokens count CUDA graph padding and drafted tokens"
    ),
    Code.ITERATIONS_ARE_MIXED: lambda v: (
        "decode steps of requests are not counted: an iteration may hold any mix of prefill and decoding"
    ),
    Code.LOG_HIDES_UNDRAFTED_STEPS: lambda v: (
        "the log has no step counter; tok/s over acceptance length would hide undrafted steps"
    ),
    Code.LOG_RESETS_PREEMPTIONS: lambda v: (
        "the counter is set to zero before the line is built, so the log never prints it"
    ),
    Code.NO_STEPS_WITH_SPECULATION: lambda v: (
        "the engine counts no steps; with speculation tok/s over acceptance length is no measurement"
    ),
    Code.POSITIONS_PER_REQUEST_ONLY: lambda v: (
        "stated per request on /generate only, neither in the log nor on /metrics"
    ),
    Code.POSITIONS_NOT_COUNTED: lambda v: "the server counts no accepted tokens per position",
    Code.SLOTS_TELL_NO_DRAFTS: lambda v: "the slots do not report drafts; the counters do, when a request finishes",
    Code.SLOTS_SHOW_NO_QUEUE: lambda v: "the slots show only requests that have one",
    Code.KV_USE_NOT_EXPORTED: lambda v: "not exported since mid-2025; the slots report the tokens held",
    Code.ENGINE_NEVER_PREEMPTS: lambda v: "this engine does not preempt",
    Code.SLIDING_WINDOW: lambda v: "layers with a sliding window hold less than the context",
    Code.NO_KV_TOKENS_LOGGED: lambda v: "the log states no KV tokens, or no context",
    Code.METHOD_NOT_STATED: lambda v: "the engine takes it from the draft model, and its log has not stated it",
    Code.START_NOT_KNOWN: lambda v: "how it was started is not known",
    Code.NO_SPECULATION_CONFIGURED: lambda v: "no speculation is configured",
    Code.MACHINE_NOT_TOLD: lambda v: "no Pitwall has reported what this machine is",
    Code.NO_GPU_SAMPLED: lambda v: "no GPU of it was sampled on this machine",
    Code.GPUS_NOT_LOOKED_AT: lambda v: "nobody looked at the GPUs when it started",
    Code.COLUMN_NOT_RECORDED: lambda v: "it was not recorded then",
    Code.NO_GPU_LOOKED_AT_WITHIN: lambda v: "none of its GPUs was looked at within it",
    Code.TOO_FEW_SAMPLES_WITHIN: lambda v: (
        f"{v['samples'] or 'no'} sample{'s' * (v['samples'] != 1)} within its {float(v['span_s']):.1f} s"
    ),
    Code.LOOKED_AT_IN_PART: lambda v: f"it was looked at for {float(v['seen_s']):.1f} of {float(v['span_s']):.1f} s",
    Code.COLLECTOR_SAYS: lambda v: v["text"],
}
CHUNKS = "it counts chunks, not tokens: with speculation too low by about the acceptance length"
INPUTS: Mapping[str, str] = {  # of the formulas in analysis/physics
    "decode_tps": "decode speed",
    "requests": "requests at once",
    "tokens_per_step": "tokens per step",
    "weights_bytes": "memory of the weights",
    "gb_s": "bandwidth of the GPU",
    "number_bytes": "KV data type",
    "pool_bytes": "memory of the KV cache",
    "k": "draft tokens",
    "draft_cost": "memory of the draft model",
    "positions": "acceptance by position",
    "idle_w": "power while nothing ran",
    "load_w": "power under our load",
    "output_tps": "output speed",
    "power_w": "power under our load",
    "price_per_hour": "price of an hour",
    "price_per_kwh": "price of a kWh",
    "total_s": "time to ready",
}


def why(reason: Reason | None) -> str | None:
    """Why a number of one run is not known."""
    return UNKNOWN[reason.code](reason.values) if reason else None


def reasons_in_words(text: str | None) -> str | None:
    """The reasons in a column of a view, in words; what is no code is what a driver or an earlier Pitwall said."""
    return None if text is None else "; ".join(map(_in_words, text.split("; ")))


def _in_words(part: str) -> str:
    code = part.partition(" ")[0]
    return part if code not in set(Code) else why(read_reason(part)) or part


def in_a_sentence(title: str) -> str:
    """'Decode speed' -> 'decode speed', where a sentence has begun before it; 'KV capacity' stays."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def window_words(window_s: float | None) -> str:
    """What a run's numbers are taken over: '2 s', or that a log gives each line a time of its own."""
    return "each log line's own time" if window_s is None else f"{window_s:g} s"


def _at_once(concurrency: int) -> str:
    return "nothing beside it" if concurrency == 1 else f"{concurrency} at once"
