"""Reasons why something is unknown or not compared: a code with its values; `web/words.py` has the sentences.

Packages below the pages report reasons in this form, so that pages, the command line and tests can tell them apart
without parsing a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote, unquote


class Code(StrEnum):
    """Reason codes; the comments name the values that come with a code."""

    # about one run's speed
    NO_WINDOW = "no_window"
    TOO_FEW_WINDOWS = "too_few_windows"  # active, windows, fewest
    CONCURRENCY_UNKNOWN = "concurrency_unknown"
    SELDOM_ALONE = "seldom_alone"  # windows, fewest, together: other numbers of concurrent requests
    NOT_COMPUTED = "not_computed"
    NOT_RECORDED = "not_recorded"
    NOT_LOGGED = "not_logged"
    NO_STEP_COUNTED = "no_step_counted"
    NO_STEP_COUNTER = "no_step_counter"
    STEPS_MISSING = "steps_missing"  # missing, active
    # about one run's acceptance
    NO_DRAFT_MADE = "no_draft_made"
    NO_DRAFT_TOLD = "no_draft_told"
    DRAFTS_NOT_COUNTED = "drafts_not_counted"
    DRAFTS_NOT_LOGGED = "drafts_not_logged"
    DRAFT_TOKENS_UNKNOWN = "draft_tokens_unknown"
    # about a speed's factors
    REQUESTS_LEFT_OUT = "requests_left_out"
    PHASE_NOT_ENDED = "phase_not_ended"
    NO_COUNTERS_BETWEEN = "no_counters_between"
    COUNTERS_DISAGREE = "counters_disagree"  # client, counters: tokens
    # about one load's value of an objective
    NO_REQUEST_OF_KIND = "no_request_of_kind"  # concurrency
    NO_STEADY_PART = "no_steady_part"  # concurrency
    TOO_FEW_CHUNKS = "too_few_chunks"  # requests, fewest
    TOO_FEW_REQUESTS = "too_few_requests"  # requests, fewest
    TOKENS_DIFFER = "tokens_differ"
    NO_ENERGY = "no_energy"
    NO_OUTPUT_TOKENS = "no_output_tokens"
    NOT_STARTED_BY_US = "not_started_by_us"
    NO_LOAD = "no_load"
    NO_CACHED_COUNT = "no_cached_count"
    NO_LOG_SPEED = "no_log_speed"
    RESULTS_ALONE = "results_alone"
    # about an arm from one viewpoint
    NO_WHOLE_WINDOW = "no_whole_window"
    FEW_WHOLE_WINDOWS = "few_whole_windows"  # windows, fewest; complete ones that count here
    NO_USERS_HELD = "no_users_held"
    NO_KV_CAPACITY = "no_kv_capacity"
    NO_ACCURACY = "no_accuracy"
    NO_ITEM_PAIRS = "no_item_pairs"
    TOO_FEW_STARTS = "too_few_starts"  # starts, fewest
    # about the fidelity of an arm
    NO_FIDELITY = "no_fidelity"
    NO_SHARED_POSITIONS = "no_shared_positions"
    OTHER_TOKENIZER = "other_tokenizer"
    # about the result of a formula of analysis.physics
    INPUTS_UNKNOWN = "inputs_unknown"  # inputs: their names
    MODEL_NOT_HERE = "model_not_here"
    CONFIG_NOT_READ = "config_not_read"  # why
    ATTENTION_NOT_READ = "attention_not_read"  # model_type
    NO_SPECULATION = "no_speculation"
    TOO_FEW_FOR_BANDS = "too_few_for_bands"  # windows, fewest
    NONE_SOLVED = "none_solved"
    NO_SESSION = "no_session"
    NO_STATED_PRICES = "no_stated_prices"
    NO_TASK = "no_task"
    PHASES_OVERLAP = "phases_overlap"  # phases_s, total_s
    # in a column of a view, about one interval between two readings of a server
    COUNTER_RESET = "counter_reset"
    NO_ANSWER = "no_answer"  # seconds
    TOO_MANY_TOKENS_A_STEP = "too_many_tokens_a_step"  # tokens, most
    MORE_TOKENS_THAN_STEPS = "more_tokens_than_steps"
    MORE_STEPS_THAN_TOKENS = "more_steps_than_tokens"
    RANKS_MISSING = "ranks_missing"  # missing, ranks
    RANK_IS_NEW = "rank_is_new"  # rank
    RANK_SILENT = "rank_silent"  # rank, seconds
    ACCEPTED_NOT_COUNTED = "accepted_not_counted"
    TOKENS_NOT_COUNTED = "tokens_not_counted"
    DECODE_NOT_COUNTED = "decode_not_counted"
    SPECULATION_NOT_KNOWN = "speculation_not_known"
    SLOTS_TELL_NO_TOKENS = "slots_tell_no_tokens"
    REQUEST_ENDED_INSIDE = "request_ended_inside"
    REQUEST_BETWEEN_LOOKS = "request_between_looks"
    SEVERAL_REQUESTS = "several_requests"
    REQUEST_NOT_THROUGHOUT = "request_not_throughout"
    LOG_TELLS_NO_WINDOW = "log_tells_no_window"
    LOG_COUNTS_NO_STEPS = "log_counts_no_steps"
    # about a result: why it or its sd is unknown, or a caveat
    FILE_SAYS_NULL = "file_says_null"
    IMPOSSIBLE_NUMBER = "impossible_number"
    NOT_A_NUMBER = "not_a_number"  # text: the beginning of the file's value
    SD_COUNT_NOT_TOLD = "sd_count_not_told"
    SPREAD_COUNT_NOT_TOLD = "spread_count_not_told"  # spread
    SD_DIVISOR_NOT_TOLD = "sd_divisor_not_told"  # spread
    SD_OF_ONE_VALUE = "sd_of_one_value"
    SD_OF_ONE_PHASE = "sd_of_one_phase"
    SD_IS_WEIGHTED = "sd_is_weighted"
    SD_IS_OVER_TIME = "sd_is_over_time"
    VALUES_MISSING = "values_missing"  # present, wanted
    COUNTS_CHUNKS = "counts_chunks"
    MAY_COUNT_CHUNKS = "may_count_chunks"
    COUNTS_PIECES = "counts_pieces"
    STATED_AS_RANGE = "stated_as_range"
    STATED_AS_ABOUT = "stated_as_about"
    NO_REQUEST_COUNTED = "no_request_counted"
    LIMITS_AT_P95 = "limits_at_p95"  # ttft_ms, tpot_ms
    LOWEST_RUNG_BROKE = "lowest_rung_broke"  # users
    # about an accuracy
    ITEMS_HAVE_SHARES = "items_have_shares"
    RIGHT_ITEMS_NOT_TOLD = "right_items_not_told"
    ITEM_COUNT_NOT_TOLD = "item_count_not_told"
    NO_SHARE_TOLD = "no_share_told"
    SHARE_ABOVE_ONE = "share_above_one"
    ITEM_COUNTS_NOT_TOLD = "item_counts_not_told"
    LENGTH_APPROXIMATE = "length_approximate"  # said
    ITEMS_WITHOUT_ANSWER = "items_without_answer"  # errors, items
    NO_ITEM_SCORED = "no_item_scored"
    ERRORS_MAY_COUNT_RIGHT = "errors_may_count_right"
    NOT_SCORED_YET = "not_scored_yet"  # items, errors
    # about a quantity that a definition does not provide
    CLIENT_SEES_NO_STEPS = "client_sees_no_steps"
    CLIENT_NOT_TOLD = "client_not_told"
    CLIENT_KNOWS_OWN_REQUESTS = "client_knows_own_requests"
    NOT_ON_LOG_LINES = "not_on_log_lines"
    LOG_TOKENS_PADDED = "log_tokens_padded"
    ITERATIONS_ARE_MIXED = "iterations_are_mixed"
    LOG_HIDES_UNDRAFTED_STEPS = "log_hides_undrafted_steps"
    LOG_RESETS_PREEMPTIONS = "log_resets_preemptions"
    NO_STEPS_WITH_SPECULATION = "no_steps_with_speculation"
    POSITIONS_PER_REQUEST_ONLY = "positions_per_request_only"
    POSITIONS_NOT_COUNTED = "positions_not_counted"
    SLOTS_TELL_NO_DRAFTS = "slots_tell_no_drafts"
    SLOTS_SHOW_NO_QUEUE = "slots_show_no_queue"
    KV_USE_NOT_EXPORTED = "kv_use_not_exported"
    ENGINE_NEVER_PREEMPTS = "engine_never_preempts"
    # in a column of a view, about a run or a machine
    SLIDING_WINDOW = "sliding_window"
    NO_KV_TOKENS_LOGGED = "no_kv_tokens_logged"
    METHOD_NOT_STATED = "method_not_stated"
    START_NOT_KNOWN = "start_not_known"
    NO_SPECULATION_CONFIGURED = "no_speculation_configured"
    MACHINE_NOT_TOLD = "machine_not_told"
    NO_GPU_SAMPLED = "no_gpu_sampled"
    GPUS_NOT_LOOKED_AT = "gpus_not_looked_at"
    # about the conditions in an interval of a run
    COLUMN_NOT_RECORDED = "column_not_recorded"
    NO_GPU_LOOKED_AT_WITHIN = "no_gpu_looked_at_within"
    TOO_FEW_SAMPLES_WITHIN = "too_few_samples_within"  # samples, span_s
    LOOKED_AT_IN_PART = "looked_at_in_part"  # seen_s, span_s
    COLLECTOR_SAYS = "collector_says"  # text


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason; `run_ids` are the runs concerned, in the order in which the sentence names them."""

    code: Code
    run_ids: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)


def write_reasons(reasons: Iterable[Reason]) -> str | None:
    """Return reasons in column form: 'values_missing present=2 wanted=3; sd_of_one_value'; None if there are none.

    Values are percent-encoded, because they may come from a foreign file.
    """
    return "; ".join(map(_write_reason, reasons)) or None


def _write_reason(reason: Reason) -> str:
    values = {name: quote(str(value), safe="", errors="replace") for name, value in reason.values.items()}
    return " ".join([reason.code, *(f"{name}={value}" for name, value in values.items())])


def read_reason(text: str) -> Reason:
    """Parse one reason in column form: 'no_answer seconds=7.6'."""
    code, *values = text.split()
    pairs = (value.split("=", 1) for value in values)
    return Reason(Code(code), values={name: unquote(value) for name, value in pairs})
