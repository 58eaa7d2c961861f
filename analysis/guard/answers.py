"""Guard rows about the servers' answers: their length and repetition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from analysis.evidence.loads import decode_tokens, has_decoding
from analysis.evidence.objectives import ObjectiveKind
from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, compared_requests
from analysis.runs.collapse import EARLIEST_END
from load_records import RequestRecord

MOST_LENGTH_RATIO = 1.5  # of the medians within a class
NOTED_LENGTH_RATIO = 1.02
MORE_LOOPED = 0.10  # share of the text
WHOLE_TIME_OBJECTIVES = (ObjectiveKind.E2E_MS, ObjectiveKind.E2E_P95_MS, ObjectiveKind.TURN_S)


def lengths(pair: ArmPair) -> GuardRow:
    """Compare output tokens by class: another length is another load.

    The longer an answer, the less of its time is prefill: output tok/s and end-to-end times are not ranked if the
    lengths may explain their difference.
    """
    first, second = (_by_class(compared_requests(pair, arm)) for arm in pair.arms)
    ratios = {name: max(first[name], second[name]) / min(first[name], second[name]) for name in first if name in second}
    if not ratios:
        return GuardRow(RowCode.LENGTHS, RowStatus.UNKNOWN)
    worst = max(ratios, key=lambda name: ratios[name])
    values = {"prompt_class": worst, "tokens": (first[worst], second[worst]), "ratio": ratios[worst]}
    if ratios[worst] > MOST_LENGTH_RATIO:
        return GuardRow(RowCode.LENGTHS, RowStatus.MATTERS, values)
    effect_log = _length_effect(pair)
    if effect_log is not None and pair.is_explained_by(effect_log):
        return GuardRow(RowCode.LENGTHS, RowStatus.MATTERS, values | {"explains": math.exp(effect_log)})
    return GuardRow(RowCode.LENGTHS, RowStatus.TOLD if ratios[worst] > NOTED_LENGTH_RATIO else RowStatus.SAME, values)


def _length_effect(pair: ArmPair) -> float | None:
    """Return the log ratio that the answers' lengths alone would give, by the pace of the arm that gives more.

    None for an objective that does not depend on them, or without compared requests.
    """
    kind = pair.objective.kind
    if kind not in (*WHOLE_TIME_OBJECTIVES, ObjectiveKind.OUTPUT_TPS, ObjectiveKind.REQUEST_TPS):
        return None
    paces = [_mean_pace(compared_requests(pair, arm)) for arm in pair.arms]
    if paces[0] is None or paces[1] is None:
        return None
    first, second = paces[0].tokens, paces[1].tokens
    time_logs = [math.log(pace.request_s(second) / pace.request_s(first)) for pace in paces if pace]
    if kind in WHOLE_TIME_OBJECTIVES:
        return max(time_logs, key=abs)
    tokens_log = math.log(second / first) if kind is ObjectiveKind.OUTPUT_TPS else 0.0
    return max((tokens_log - time_log for time_log in time_logs), key=abs)


class _AnswerPace(NamedTuple):
    """Mean times of an arm's requests."""

    tokens: float
    first_s: float  # until the first token
    token_s: float  # each further token

    def request_s(self, tokens: float) -> float:
        return self.first_s + self.token_s * tokens


def _mean_pace(requests: Sequence[RequestRecord]) -> _AnswerPace | None:
    decoding = [request for request in requests if has_decoding(request)]
    if not decoding:
        return None
    token_s = sum(r.decode_ms or 0.0 for r in decoding) / sum(map(decode_tokens, decoding)) / 1000
    first_s = fmean((r.ttft_ms or 0.0) / 1000 for r in decoding)
    return _AnswerPace(fmean(r.completion_tokens or 0 for r in decoding), first_s, token_s)


def _by_class(requests: Sequence[RequestRecord]) -> dict[str, float]:
    tokens: dict[str, list[int]] = {}
    for request in requests:
        tokens.setdefault(request.prompt_class, []).append(request.completion_tokens or 0)
    return {name: median(counts) for name, counts in tokens.items()}


def loops(pair: ArmPair) -> GuardRow:
    """Compare repetition: looping text is easy to draft, so an arm that is faster because it loops is not better.

    With ignore_eos a text goes on past its natural end. Loops that begin in its second half are past that end and only
    noted, unless the faster arm may draft.
    """
    requests_by_arm = [compared_requests(pair, arm) for arm in pair.arms]
    shares = [_looped_share(requests) for requests in requests_by_arm]
    if shares[0] is None or shares[1] is None:
        return GuardRow(RowCode.LOOPS, RowStatus.UNKNOWN)
    values = {
        "looped": (shares[0], shares[1]),
        "past_the_end": all(map(_loops_past_end, [*requests_by_arm[0], *requests_by_arm[1]])),
    }
    if max(shares[0], shares[1]) <= MORE_LOOPED:
        return GuardRow(RowCode.LOOPS, RowStatus.SAME, values)
    excess = shares[1] - shares[0] if pair.is_contender_faster else shares[0] - shares[1]
    may_draft = any(run.speculates is not False for run in pair.slower_first[1].runs)
    is_why = excess > MORE_LOOPED and pair.is_contender_faster is not None and (may_draft or not values["past_the_end"])
    return GuardRow(RowCode.LOOPS, RowStatus.MATTERS if is_why else RowStatus.TOLD, values)


def _looped_share(requests: Sequence[RequestRecord]) -> float | None:
    """Return the mean share of the answers' words that lie in loops; None if an answer was not checked."""
    looped_ratios = [r.extra["collapse"]["looped_ratio"] for r in requests if r.extra.get("collapse")]
    return sum(looped_ratios) / len(looped_ratios) if looped_ratios and len(looped_ratios) == len(requests) else None


def _loops_past_end(request: RequestRecord) -> bool:
    """Whether the answer goes on past its end on request and does not loop before its second half."""
    collapse = request.extra.get("collapse") or {}
    onset, words = collapse.get("onset_word"), collapse.get("words")
    onset_share = onset / words if onset is not None and words else 1 - collapse.get("looped_ratio", 0.0)
    return bool(request.sampling.get("ignore_eos")) and onset_share >= EARLIEST_END
