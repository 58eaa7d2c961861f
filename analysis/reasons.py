"""Why something is not known or not compared: a code with its values; `web/words.py` has the words.

Rooms below the pages give reasons in this form, so that a page, the command line and a test can each tell them apart
without reading a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """What a reason is; in brackets the runs and values that it comes with."""

    # about one run's speed
    NO_WINDOW = "no_window"
    TOO_FEW_WINDOWS = "too_few_windows"  # active, windows, fewest
    NO_STEP_COUNTED = "no_step_counted"
    NO_STEP_COUNTER = "no_step_counter"
    STEPS_MISSING = "steps_missing"  # missing, active
    # about one run's acceptance
    NO_DRAFT_MADE = "no_draft_made"
    NO_DRAFT_TOLD = "no_draft_told"
    DRAFTS_NOT_COUNTED = "drafts_not_counted"
    DRAFTS_NOT_LOGGED = "drafts_not_logged"
    # about a speed's factors
    REQUESTS_LEFT_OUT = "requests_left_out"
    PHASE_NOT_ENDED = "phase_not_ended"
    NO_COUNTERS_BETWEEN = "no_counters_between"
    COUNTERS_DISAGREE = "counters_disagree"  # client, counters: tokens
    # about one load's value of an objective
    NO_REQUEST_OF_KIND = "no_request_of_kind"  # concurrency
    NO_STEADY_PART = "no_steady_part"  # concurrency
    TOO_FEW_REQUESTS = "too_few_requests"  # requests, fewest
    TOKENS_DIFFER = "tokens_differ"
    NO_ENERGY = "no_energy"
    NOT_STARTED_BY_US = "not_started_by_us"
    NO_LOAD = "no_load"
    NO_LOG_SPEED = "no_log_speed"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason; `run_ids` are the runs that it is about, in the order of the words."""

    code: Code
    run_ids: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
