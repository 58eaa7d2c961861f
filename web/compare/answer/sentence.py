"""The answer of a comparison as one sentence, and the values and uncertainty shown below it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.compare_arms import ArmComparison
from analysis.comparison.replicates import RUN_OBJECTIVES
from analysis.evidence.factors import geometric_mean
from analysis.evidence.objectives import Objective
from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.verdict import (
    MAX_REPEATS,
    FactorEffect,
    FactorFinding,
    Judgement,
    SettlingRepeats,
    VerdictAnswer,
    format_margin,
    read_causes,
)
from web.compare.answer.guard_words import TITLES, agreement_text, fidelity_answer_text, percent, row_text
from web.loads.depth_words import depths_text
from web.theme import three_digits
from web.words import Names, lower_first, reason_text

FACTOR_TITLES = {
    "tokens_per_step": "tokens per step",
    "steps_per_s": "steps/s",
    "running": "requests in flight",
    "queueing": "requests not queued",
    "prefill": "time not spent on prefill",
    "first_token": "time after the first token",
}


def answer_sentence(answer: ArmComparison, names: Names) -> str:
    """Return the claim about the compared arm: the ratio with its cause, or what is not known and why."""
    baseline_name, compared_name = answer.pair.baseline.name, answer.pair.contender.name
    if answer.refused:
        refusals = "; ".join(refusal_text(row, names) for row in answer.refused)
        return f"{compared_name} is not ranked against {baseline_name}: {refusals}."
    if answer.judgement is None:
        reason = reason_text(answer.no_value) or "a value is not known"
        return f"{compared_name} cannot be compared with {baseline_name}: {reason}."
    claim = CLAIMS[answer.judgement.answer](answer, answer.judgement, baseline_name, compared_name)
    return " ".join(filter(None, [claim, *remarks(answer, names)]))


def refusal_text(row: GuardRow, names: Names) -> str:
    """Return a row that prevents ranking as part of a sentence: 'model (Qwen3-32B and Llama-3.2-1B)'."""
    title = TITLES[row.code]
    return f"{lower_first(title)} ({row_text(row, names)})"


def remarks(answer: ArmComparison, names: Names) -> list[str]:
    """Return sentences that belong to the answer: looping text in both arms, differences compared on purpose."""
    texts = [
        f"{TITLES[row.code]}: {row_text(row, names)}, which is compared on purpose."
        for row in answer.rows
        if row.code in answer.pair.declared and row.status is RowStatus.COMPARED
    ]
    loops = next((row for row in answer.rows if row.code is RowCode.LOOPS), None)
    if loops and loops.status is RowStatus.TOLD:
        texts.append(f"Both speeds include looping text: {row_text(loops, names)}{_useful_speeds(answer, loops)}.")
    quality = next((row for row in answer.rows if row.code is RowCode.QUALITY), None)
    return [*texts, *([quality_sentence(quality, answer.pair.baseline.name)] if quality else [])]


def quality_sentence(row: GuardRow, baseline_name: str) -> str:
    """Return what is known of the answers; '' if nothing that may change them differs and nothing was measured."""
    parts: list[str] = []
    if "reason" in row.values:
        parts = [row_text(row, {})]
    elif "agreement" in row.values:
        parts = [agreement_text(row.values, baseline_name), fidelity_answer_text(row.values)]
    for suite, reached, own in row.values.get("depths", ()):
        parts.append(depths_text(suite, reached, own, baseline_name))
    return f"Its answers: {'; '.join(parts)}." if parts else ""


def _useful_speeds(answer: ArmComparison, loops: GuardRow) -> str:
    """The tok/s without looping text; '' for text generated past an answer's end, which has no use anyway."""
    values = [[replicate.value for replicate in side if replicate.value is not None] for side in answer.replicates]
    if not answer.pair.objective.is_output_speed or not all(values) or loops.values["past_the_end"]:
        return ""
    useful_tps = [
        geometric_mean(side) * (1 - share) for side, share in zip(values, loops.values["looped"], strict=True)
    ]
    first, second = (three_digits(tps) for tps in useful_tps)
    return f"; useful {first} and {second} tok/s"


def _better_or_worse(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    return f"{_ratio_claim(answer.pair.objective, judgement.ratio, a, b)}{_cause_text(judgement.ratio, answer)}."


def _same(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    low, high = judgement.equivalence or (judgement.ratio, judgement.ratio)
    limit = format_margin(answer.margin)
    return f"{b} and {a} are the same in {answer.pair.objective.title} within {limit}: {low:.3f}× to {high:.3f}×."


def _different(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    better_or_worse = "better" if (judgement.ratio > 1) == answer.pair.objective.terms.higher_is_better else "worse"
    claim = (
        f"{b} is {better_or_worse} than {a} in {answer.pair.objective.title}; the size of the difference is uncertain: "
    )
    return claim + f"{_between(judgement)}{_more_starts_text(judgement)}."


def _unknown(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    claim = f"It is not yet known whether {b} differs from {a} by {format_margin(answer.margin)} or more: "
    return claim + f"{judgement.ratio:.2f}× seen, {_between(judgement)}{_more_starts_text(judgement)}."


def _seen_once(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    first, second = judgement.replicates
    starts = "one start each" if first == second == 1 else f"{_start_count(second)} against {_start_count(first)}"
    return (
        f"{_ratio_claim(answer.pair.objective, judgement.ratio, a, b, 'was seen at')}, {starts}: too few to claim it."
    )


CLAIMS: Mapping[VerdictAnswer, Callable[[ArmComparison, Judgement, str, str], str]] = {
    VerdictAnswer.BETTER: _better_or_worse,
    VerdictAnswer.WORSE: _better_or_worse,
    VerdictAnswer.SAME: _same,
    VerdictAnswer.DIFFERENT: _different,
    VerdictAnswer.UNKNOWN: _unknown,
    VerdictAnswer.SEEN_ONCE: _seen_once,
}


def _ratio_claim(objective: Objective, ratio: float, a: str, b: str, verb: str = "is") -> str:
    """'B is 1.30× as fast as A'; 'The time to first token of B (one at a time) is 0.80× that of A, which is better'."""
    if objective.is_output_speed:
        return f"{b} {verb} {ratio:.2f}× {'as fast as' if verb == 'is' else 'the speed of'} {a}"
    load_note = f" ({objective.load_label})" if objective.load_label else ""
    is_good = (ratio > 1) == objective.terms.higher_is_better
    verdict = "" if verb != "is" else ", which is better" if is_good else ", which is worse"
    return f"The {objective.terms.title} of {b}{load_note} {verb} {ratio:.2f}× that of {a}{verdict}"


def detail(answer: ArmComparison) -> str | None:
    """Return the values and the interval as text; None without a value."""
    judgement = answer.judgement
    if judgement is None or answer.refused:
        return None
    unit = answer.pair.objective.terms.unit
    a, b = (_mean(side) for side in replicate_values(answer))
    parts = [f"{three_digits(b)} against {three_digits(a)} {unit}", f"{_start_count(judgement.replicates[1])} against "]
    parts[1] += _start_count(judgement.replicates[0])
    if judgement.interval:
        parts.append(f"95 %: {_between(judgement)}")
    if steady_text := _steady_text(answer):
        parts.append(steady_text)
    if judgement.sd_source == "earlier":
        parts.append("the spread between starts is taken from earlier repeats")
    return " · ".join(parts)


def _steady_text(answer: ArmComparison) -> str | None:
    """'over the 12.0 s under full load (6 % prefill)': ramps and pauses are excluded."""
    steady_parts = [
        measured
        for side in answer.replicates
        for replicate in side
        for measured in replicate.measured
        if measured.steady_s
    ]
    if not steady_parts:
        return None
    seconds = sum(measured.steady_s or 0.0 for measured in steady_parts) / len(steady_parts)
    share = sum(measured.prefill_share or 0.0 for measured in steady_parts) / len(steady_parts)
    return f"over the {three_digits(seconds)} s under full load ({percent(share)} prefill)"


def replicate_values(answer: ArmComparison) -> tuple[list[float], list[float]]:
    """Return the values of both arms' starts, without the starts that have none."""
    first, second = (
        [replicate.value for replicate in side if replicate.value is not None] for side in answer.replicates
    )
    return first, second


def excluded_requests_text(answer: ArmComparison) -> str | None:
    """'Excluded requests: 12 of the warm-up, 1 failed.'; None if requests are not the evidence."""
    if answer.pair.objective.kind in RUN_OBJECTIVES:
        return None
    reasons = {"warmup": "of the warm-up", "failed": "failed", "unmatched": "not reported by all runs"}
    counts = [f"{answer.left_out[name]} {reasons[name]}" for name in reasons if name in answer.left_out]
    texts = [f"Excluded requests: {', '.join(counts)}."] if counts else []
    if starts_without_value := answer.left_out.get("starts"):
        texts.append(f"{_start_count(starts_without_value)} without a value.")
    return " ".join(texts) or None


def factor_text(factor: FactorEffect) -> str:
    """'steps/s fell to 0.80×'; 'stayed the same' and 'is not known to differ' are said of their own findings."""
    title, size = FACTOR_TITLES[factor.name], f"{factor.ratio:.2f}×"
    if factor.finding is FactorFinding.UNCHANGED:
        return f"{title} stayed the same ({size})"
    if factor.finding is FactorFinding.UNKNOWN:
        interval = f", {factor.interval[0]:.2f}× to {factor.interval[1]:.2f}×" if factor.interval else ""
        return f"{title} is not known to differ ({size}{interval})"
    return f"{title} {factor.finding.value} to {size}"


def _cause_text(ratio: float, answer: ArmComparison) -> str:
    """The causes that the starts show, the largest first; or which factors are not known apart."""
    if not answer.factors:
        reason = reason_text(answer.no_factors)
        return f"; the cause is not known{f' ({reason})' if reason else ''}" if _has_factors(answer) else ""
    reading = read_causes(answer.factors, ratio, answer.margin)
    unchanged = _titles([factor for factor in reading.unchanged if factor.interval])  # others cannot differ
    clauses = [
        *(f", although {factor_text(factor)}" for factor in reading.opposing),
        *([f", while {unchanged} stayed the same"] if unchanged else []),
    ]
    if reading.causes:
        clauses += [f"; {factor_text(factor)}" for factor in reading.undecided]
        return f", because {listed(_cause_parts(reading.causes))}{''.join(clauses)}"
    return f"{_undecided_text(reading.undecided)}{''.join(clauses)}"


def _cause_parts(causes: Sequence[FactorEffect]) -> list[str]:
    """Each cause; of several, the main one with its share of the difference on the log scale."""
    first, *further_causes = map(factor_text, causes)
    main = causes[0]
    if not further_causes or main.share is None or main.share_interval is None:
        return [first, *further_causes]
    low, high = main.share_interval
    share_text = f"{percent(main.share)} of the difference, {percent(max(0.0, low))} to {percent(high)}"
    return [f"{first} ({share_text})", *further_causes]


def _undecided_text(undecided: Sequence[FactorEffect]) -> str:
    """Which factors the starts do not tell apart, and what would."""
    sizes = ", ".join(f"{FACTOR_TITLES[factor.name]} {factor.ratio:.2f}×" for factor in undecided)
    if len(undecided) > 1:
        return f"; {_titles(undecided)} are not known apart ({sizes}): more starts of both would tell"
    return f"; the cause is not known yet{f' ({sizes})' if sizes else ''}: more starts of both would tell"


def _titles(factors: Sequence[FactorEffect]) -> str:
    return listed([FACTOR_TITLES[factor.name] for factor in factors])


def listed(texts: Sequence[str]) -> str:
    """Return the texts as a list in words: 'a, b and c'."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def _has_factors(answer: ArmComparison) -> bool:
    return answer.pair.objective.is_output_speed


def _between(judgement: Judgement) -> str:
    if judgement.interval is None:
        return "no interval can be given"
    return f"{judgement.interval[0]:.2f}× to {judgement.interval[1]:.2f}×"


def _more_starts_text(judgement: Judgement) -> str:
    repeats = judgement.more_repeats
    return "" if repeats is None else f"; {settling_words(repeats)} each would settle it"


def settling_words(repeats: SettlingRepeats) -> str:
    """Format the range of further starts: 'probably 3 to 12 more starts'."""
    if repeats.high is None:
        return f"{repeats.low} to more than {MAX_REPEATS} more starts"
    if repeats.high == 1:
        return "probably 1 more start"
    return f"probably {repeats.low if repeats.low == repeats.high else f'{repeats.low} to {repeats.high}'} more starts"


def _start_count(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
