"""Texts for the reason codes of `reasons.py`; no other module turns a code into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reasons import Code, Reason, read_reason

Names = Mapping[str, str]  # run id -> name
Values = Mapping[str, Any]

UNKNOWN: Mapping[Code, Callable[[Values], str]] = {
    Code.NO_WINDOW: lambda v: "no window was recorded",
    Code.TOO_FEW_WINDOWS: lambda v: (
        f"too short: {v['active']} of {v['windows']} windows were decoding, {v['fewest']} needed"
    ),
    Code.CONCURRENCY_UNKNOWN: lambda v: "the number of concurrent requests is not known",
    Code.SELDOM_ALONE: lambda v: _seldom_alone(v),
    Code.NOT_COMPUTED: lambda v: "its numbers could not be computed (see Pitwall's log); Pitwall will try again",
    Code.NOT_RECORDED: lambda v: "it was not recorded",
    Code.NOT_LOGGED: lambda v: "its log does not state it",
    Code.DRAFT_TOKENS_UNKNOWN: lambda v: "the number of drafted tokens was not reported",
    Code.NO_STEP_COUNTED: lambda v: "no step was counted",
    Code.NO_STEP_COUNTER: lambda v: "there is no step counter",
    Code.STEPS_MISSING: lambda v: f"{v['missing']} of {v['active']} decoding intervals have no step count",
    Code.NO_DRAFT_MADE: lambda v: "no draft was made",
    Code.NO_DRAFT_TOLD: lambda v: "no counter or log of the engine reports drafts",
    Code.DRAFTS_NOT_COUNTED: lambda v: "the server counts no drafts",
    Code.DRAFTS_NOT_LOGGED: lambda v: "the log does not state how many drafts were made",
    Code.REQUESTS_LEFT_OUT: lambda v: "some requests were left out, but the counters include them",
    Code.PHASE_NOT_ENDED: lambda v: "the phase did not end",
    Code.NO_COUNTERS_BETWEEN: lambda v: "the counters were not read before and after the requests",
    Code.COUNTERS_DISAGREE: lambda v: (
        f"the counters grew by {v['counters']:,.0f} tokens, but Pitwall's requests had {v['client']:,.0f}"
    ),
    Code.NO_REQUEST_OF_KIND: lambda v: f"no request {_concurrency_text(v['concurrency'])} finished in all runs",
    Code.NO_STEADY_PART: lambda v: f"90 % of {v['concurrency']} requests were never in flight together",
    Code.TOO_FEW_CHUNKS: lambda v: (
        f"its answers arrived in fewer than {v['fewest']} chunks, which shows when they were sent, not how fast they "
        "were decoded"
    ),
    Code.TOO_FEW_REQUESTS: lambda v: f"{v['requests']} requests; a p95 needs {v['fewest']} per run",
    Code.TOKENS_DIFFER: lambda v: "answer lengths differ between the runs, so their times are not comparable",
    Code.NO_OUTPUT_TOKENS: lambda v: "the server did not report how many tokens each answer had",
    Code.NO_ENERGY: lambda v: "the energy use of its GPUs was not measured",
    Code.NOT_STARTED_BY_US: lambda v: "Pitwall did not start this server, or it never became ready",
    Code.NO_LOAD: lambda v: "Pitwall put no load on it",
    Code.NO_CACHED_COUNT: lambda v: "the server did not report how many prompt tokens came from its cache",
    Code.NO_LOG_SPEED: lambda v: "its log shows no window of pure decoding",
    Code.RESULTS_ALONE: lambda v: "it has only a tool's results, and runs are compared by their requests",
    Code.NO_WHOLE_WINDOW: lambda v: "no complete window has a value",
    Code.FEW_WHOLE_WINDOWS: lambda v: (
        f"too short: {v['windows']} complete window{'s' * (v['windows'] != 1)} counted, {v['fewest']} needed"
    ),
    Code.NO_USERS_HELD: lambda v: "the load 'How many users can it serve?' was not run on it",
    Code.NO_KV_CAPACITY: lambda v: "its KV cache capacity is not known for a request length that all arms state",
    Code.NO_ACCURACY: lambda v: "no accuracy result for a task shared by all runs",
    Code.NO_FIDELITY: lambda v: "no fidelity load was run on both",
    Code.NO_SHARED_POSITIONS: lambda v: "their fidelity loads share no position",
    Code.OTHER_TOKENIZER: lambda v: "their tokenizers differ: the same texts have other token ids",
    Code.NO_ITEM_PAIRS: lambda v: "no items are stored that both were scored on, each as right or wrong",
    Code.TOO_FEW_STARTS: lambda v: f"server starts: {v['starts']}; a spread needs {v['fewest']} or more",
    Code.NO_STATED_PRICES: lambda v: "only the plan of a study states prices",
    Code.NO_SESSION: lambda v: "no load of agent sessions, or none whose turns ended in all runs",
    Code.NO_TASK: lambda v: "no agent task was judged on it",
    Code.NONE_SOLVED: lambda v: "no task was solved",
    Code.INPUTS_UNKNOWN: lambda v: f"missing: {', '.join(INPUTS.get(name, name) for name in v['inputs'])}",
    Code.MODEL_NOT_HERE: lambda v: "the model folder is not on this machine",
    Code.CONFIG_NOT_READ: lambda v: f"the model's config.json could not be read: {v['why']}",
    Code.ATTENTION_NOT_READ: lambda v: (
        f"Pitwall cannot read the layers in a config.json of model type {v['model_type'] or 'unknown'}"
    ),
    Code.NO_SPECULATION: lambda v: "no acceptance was counted during pure decoding",
    Code.TOO_FEW_FOR_BANDS: lambda v: f"{v['windows']} windows; bands need {v['fewest']} or more",
    Code.PHASES_OVERLAP: lambda v: (
        f"its phases sum to {v['phases_s']:.0f} s, more than the {v['total_s']:.0f} s that it took"
    ),
    Code.COUNTER_RESET: lambda v: "its counters were reset",
    Code.NO_ANSWER: lambda v: f"no answer for {v['seconds']} s",
    Code.TOO_MANY_TOKENS_A_STEP: lambda v: (
        f"the counters contradict each other: {v['tokens']} tokens per step, {v['most']} is the most"
    ),
    Code.MORE_TOKENS_THAN_STEPS: lambda v: (
        "the counters contradict each other: more tokens than steps and accepted tokens"
    ),
    Code.MORE_STEPS_THAN_TOKENS: lambda v: "the counters contradict each other: more steps than tokens",
    Code.RANKS_MISSING: lambda v: f"{v['missing']} of {v['ranks']} ranks are missing from this reading",
    Code.RANK_IS_NEW: lambda v: f"rank {v['rank']} was missing from the previous reading",
    Code.RANK_SILENT: lambda v: f"rank {v['rank']} has logged nothing for {v['seconds']} s",
    Code.ACCEPTED_NOT_COUNTED: lambda v: "the server counts no accepted tokens",
    Code.TOKENS_NOT_COUNTED: lambda v: "the server does not count generated or first tokens",
    Code.DECODE_NOT_COUNTED: lambda v: "the server does not count decode tokens as they come",
    Code.SPECULATION_NOT_KNOWN: lambda v: "it is not known whether the server speculates",
    Code.SLOTS_TELL_NO_TOKENS: lambda v: "the slots do not report generated tokens",
    Code.REQUEST_ENDED_INSIDE: lambda v: "a request ended within the interval, so its last tokens were not seen",
    Code.REQUEST_BETWEEN_LOOKS: lambda v: "a request came and went between two readings, so its tokens were not seen",
    Code.SEVERAL_REQUESTS: lambda v: "steps cannot be told apart while several requests run",
    Code.REQUEST_NOT_THROUGHOUT: lambda v: "steps are known only while one request decodes throughout",
    Code.LOG_TELLS_NO_WINDOW: lambda v: "the log does not say which interval its lines average over",
    Code.LOG_COUNTS_NO_STEPS: lambda v: "the log has no step counter",
    Code.FILE_SAYS_NULL: lambda v: "the file contains null",
    Code.IMPOSSIBLE_NUMBER: lambda v: "the file contains an impossible number",
    Code.NOT_A_NUMBER: lambda v: f"the file contains {v['text']!r}, which is not a number",
    Code.SD_COUNT_NOT_TOLD: lambda v: "no sd: the tool divides by n, and the file does not state n",
    Code.SD_DIVISOR_NOT_TOLD: lambda v: f"no sd: std {v['spread']}, but whether it divides by n or n - 1 is not stated",
    Code.SPREAD_COUNT_NOT_TOLD: lambda v: f"no sd: ± {v['spread']}, but the number of values is not stated",
    Code.SD_OF_ONE_VALUE: lambda v: "no sd: there is only one value",
    Code.SD_OF_ONE_PHASE: lambda v: "no sd: the value covers one phase",
    Code.SD_IS_WEIGHTED: lambda v: "no sd: the tool weights requests by their tokens",
    Code.SD_IS_OVER_TIME: lambda v: "no sd: the tool states that of the rate over time",
    Code.VALUES_MISSING: lambda v: f"{v['present']} of {v['wanted']} values are present",
    Code.COUNTS_CHUNKS: lambda v: CHUNKS,
    Code.MAY_COUNT_CHUNKS: lambda v: f"the tool's version is not stated; {CHUNKS}",
    Code.COUNTS_PIECES: lambda v: "counts answer chunks in the best second, not tokens: too low with speculation",
    Code.STATED_AS_RANGE: lambda v: "stated as a range",
    Code.STATED_AS_ABOUT: lambda v: "stated as approximate",
    Code.NO_REQUEST_COUNTED: lambda v: "no request finished with a token count",
    Code.LIMITS_AT_P95: lambda v: f"limits at p95: TTFT {v['ttft_ms']} ms, TPOT {v['tpot_ms']} ms",
    Code.LOWEST_RUNG_BROKE: lambda v: f"even {v['users']} at once exceeded a limit",
    Code.ITEMS_HAVE_SHARES: lambda v: "no interval: items can score a fraction of a point",
    Code.RIGHT_ITEMS_NOT_TOLD: lambda v: "no interval: the file does not state how many items were correct",
    Code.ITEM_COUNT_NOT_TOLD: lambda v: "no interval: the text does not state the number of items",
    Code.NO_SHARE_TOLD: lambda v: "the file contains no fraction between 0 and 1",
    Code.SHARE_ABOVE_ONE: lambda v: "more than 100 %",
    Code.ITEM_COUNTS_NOT_TOLD: lambda v: "the file does not state how many of how many items were correct",
    Code.LENGTH_APPROXIMATE: lambda v: f"prompt lengths are approximate, without a tokenizer: {v['said']}",
    Code.ITEMS_WITHOUT_ANSWER: lambda v: (
        f"{v['errors']} of {v['items']} items got no answer and count as errors, not as answers"
    ),
    Code.NO_ITEM_SCORED: lambda v: "no item was scored",
    Code.ERRORS_MAY_COUNT_RIGHT: lambda v: "items without an answer may count as correct: only the result file tells",
    Code.NOT_SCORED_YET: lambda v: f"not scored yet: {v['items']} items, {v['errors']} of them errors",
    Code.CLIENT_SEES_NO_STEPS: lambda v: "a client sees chunks, not the engine's steps",
    Code.CLIENT_NOT_TOLD: lambda v: "not reported to clients",
    Code.CLIENT_KNOWS_OWN_REQUESTS: lambda v: "a client knows only its own requests",
    Code.NOT_ON_LOG_LINES: lambda v: "not in the log lines",
    Code.LOG_TOKENS_PADDED: lambda v: (
        "the line prints no rate, and its generation tokens include CUDA graph padding and drafted tokens"
    ),
    Code.ITERATIONS_ARE_MIXED: lambda v: (
        "decode steps per request are not counted: an iteration may mix prefill and decoding"
    ),
    Code.LOG_HIDES_UNDRAFTED_STEPS: lambda v: (
        "the log has no step counter, and tok/s over acceptance length would hide undrafted steps"
    ),
    Code.LOG_RESETS_PREEMPTIONS: lambda v: "the counter is reset before the line is built, so the log never shows it",
    Code.NO_STEPS_WITH_SPECULATION: lambda v: (
        "the engine counts no steps, and with speculation tok/s over acceptance length is not a measurement"
    ),
    Code.POSITIONS_PER_REQUEST_ONLY: lambda v: "reported per request on /generate only, not in the log or on /metrics",
    Code.POSITIONS_NOT_COUNTED: lambda v: "the server counts no accepted tokens per position",
    Code.SLOTS_TELL_NO_DRAFTS: lambda v: "the slots do not report drafts; the counters do so when a request finishes",
    Code.SLOTS_SHOW_NO_QUEUE: lambda v: "the slots show only requests that already have a slot",
    Code.KV_USE_NOT_EXPORTED: lambda v: "not exported since mid-2025; the slots report the tokens held",
    Code.ENGINE_NEVER_PREEMPTS: lambda v: "this engine does not preempt",
    Code.SLIDING_WINDOW: lambda v: "layers with a sliding window hold less than the context",
    Code.NO_KV_TOKENS_LOGGED: lambda v: "the log states no KV tokens, or no context",
    Code.METHOD_NOT_STATED: lambda v: "the engine derives it from the draft model, and its log did not state it",
    Code.START_NOT_KNOWN: lambda v: "it is not known how the server was started",
    Code.NO_SPECULATION_CONFIGURED: lambda v: "no speculation is configured",
    Code.MACHINE_NOT_TOLD: lambda v: "no Pitwall has described this machine",
    Code.NO_GPU_SAMPLED: lambda v: "none of its GPUs was sampled on this machine",
    Code.GPUS_NOT_LOOKED_AT: lambda v: "the GPUs were not checked when it started",
    Code.COLUMN_NOT_RECORDED: lambda v: "it was not recorded at the time",
    Code.NO_GPU_LOOKED_AT_WITHIN: lambda v: "none of its GPUs was sampled during it",
    Code.TOO_FEW_SAMPLES_WITHIN: lambda v: (
        f"{v['samples'] or 'no'} sample{'s' * (v['samples'] != 1)} during its {float(v['span_s']):.1f} s"
    ),
    Code.LOOKED_AT_IN_PART: lambda v: f"samples cover {float(v['seen_s']):.1f} of its {float(v['span_s']):.1f} s",
    Code.COLLECTOR_SAYS: lambda v: v["text"],
}
CHUNKS = (
    "versions before 0.4.0 count chunks, not tokens: with speculation the value is too low by about the "
    "acceptance length"
)
INPUTS: Mapping[str, str] = {  # inputs of the formulas in analysis/physics
    "decode_tps": "decode speed",
    "requests": "concurrent requests",
    "tokens_per_step": "tokens per step",
    "weights_bytes": "weight memory",
    "gb_s": "GPU memory bandwidth",
    "number_bytes": "KV data type",
    "pool_bytes": "KV cache memory",
    "k": "draft tokens",
    "draft_cost": "draft model memory",
    "positions": "acceptance by position",
    "idle_w": "idle power",
    "load_w": "power under Pitwall's load",
    "output_tps": "output speed",
    "power_w": "power under Pitwall's load",
    "price_per_hour": "price per hour",
    "price_per_kwh": "price per kWh",
    "total_s": "time to ready",
    "energy_j": "the energy use of its GPUs",
}


def reason_text(reason: Reason | None) -> str | None:
    """Return why a number is not known, as part of a sentence; None without a reason."""
    return UNKNOWN[reason.code](reason.values) if reason else None


def reasons_text(text: str | None) -> str | None:
    """Return the text of a view's reason column; parts that are no code, such as a driver's message, are kept."""
    return None if text is None else "; ".join(map(_reason_text, text.split("; ")))


def _reason_text(code_text: str) -> str:
    code = code_text.partition(" ")[0]
    return code_text if code not in set(Code) else reason_text(read_reason(code_text)) or code_text


def lower_first(title: str) -> str:
    """'Decode speed' -> 'decode speed', for use inside a sentence; 'KV capacity' stays."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def window_text(window_s: float | None) -> str:
    """The length of a run's windows: '2 s', or that each log line covers its own interval."""
    return "each log line's own interval" if window_s is None else f"{window_s:g} s"


def _seldom_alone(values: Values) -> str:
    counts = ", ".join(map(str, values["together"]))
    concurrent_note = f"; others decoded {counts} requests at once" if counts else ""
    subject = f"only {values['windows']} of the intervals" if values["windows"] else "no interval"
    return f"{subject} had one request alone, but {values['fewest']} are needed{concurrent_note}"


def _concurrency_text(concurrency: int) -> str:
    return "that ran alone" if concurrency == 1 else f"at concurrency {concurrency}"
