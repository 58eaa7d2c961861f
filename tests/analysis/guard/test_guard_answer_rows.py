"""The guard's rows about the answers, on their thresholds: unfinished, failed, their lengths, loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import RowCode, RowStatus
from tests.analysis.comparison.hand_made import load, request, run, streams
from tests.analysis.guard.test_guard_rows import MATTERS, SAME, TOLD, UNKNOWN, answers, broken_off, failing, of, row
from web.compare.answer.guard_words import row_text


def test_unfinished() -> None:
    whole = replace(of(*streams(4)), run_id="a")
    part = of(*streams(3), planned_requests=5)
    assert row(RowCode.UNFINISHED, whole, whole).status is SAME
    actual_row = row(RowCode.UNFINISHED, whole, part)
    assert actual_row.status is MATTERS and actual_row.values == {"unsent": {"b": 2}, "live": []}
    live = row(RowCode.UNFINISHED, whole, replace(part, state="running"))
    assert live.values == {"unsent": {"b": 2}, "live": ["b"]}
    assert row(RowCode.UNFINISHED, whole, broken_off(of(*streams(4)))).values == {"unsent": {"b": 0}, "live": []}
    assert row(RowCode.UNFINISHED, whole, of(*streams(4), planned_requests=None)).status is SAME


def test_failed() -> None:
    good = failing(0, 100)
    assert row(RowCode.FAILED, good, good).status is SAME
    few = row(RowCode.FAILED, good, failing(2, 100))
    assert few.status is TOLD and few.values == {"failed": ((0, 100), (2, 100))}
    assert row(RowCode.FAILED, failing(3, 100), good).status is MATTERS
    assert row(RowCode.FAILED, good, failing(3, 100, "cancelled")).status is SAME
    assert row(RowCode.FAILED, run("b"), run("b")).status is UNKNOWN


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (RowCode.UNFINISHED, "no request of a load is known"),
        (RowCode.FAILED, "no request of a load is known"),
        (RowCode.STALLS, "no request of a load is known"),
        (RowCode.PROMPTS, "no request by Pitwall"),
        (RowCode.RESTARTS, "the counters of a load are not known"),
    ],
)
def test_rows_of_requests_are_unknown_without_any(code: RowCode, words: str) -> None:
    """Results of another tool have totals alone, and a log has not even those: that is not the same as no failure."""
    bare, totals = run("b"), run("b", replace(load([], source_name="a.json"), requests=()))
    for other in (bare, totals, of(*streams(4))):
        for first, second in ((bare, other), (other, bare)):
            assert row(code, first, second).status is not SAME
    actual_row = row(code, bare, bare)
    assert actual_row.status is UNKNOWN and row_text(actual_row, {}) == words


def test_few_failures_may_fill_a_concurrency() -> None:
    """4 of 8 requests at 8 streams beside 992 sequential ones: 0.4 % of all, half of what is measured."""
    alone = streams(992)
    together = [replace(r, phase_index=2) for r in streams(1, 8)]
    bad = [replace(r, error_kind="http") if n % 2 else r for n, r in enumerate(together)]
    good, half = of(*alone, *together), of(*alone, *bad)
    actual_row = row(RowCode.FAILED, good, half, "output_tps@8")
    assert actual_row.status is MATTERS and actual_row.values == {"failed": ((0, 8), (4, 8))}
    assert row(RowCode.FAILED, good, half, "decode_tps").status is TOLD


# The answers


@pytest.mark.parametrize(("tokens", "standing"), [(100, SAME), (102, SAME), (103, TOLD), (150, TOLD), (151, MATTERS)])
def test_lengths(tokens: int, standing: RowStatus) -> None:
    for a, b in ((100, tokens), (tokens, 100)):
        actual_row = row(RowCode.LENGTHS, answers(a), answers(b))
        assert actual_row.status is standing
        assert actual_row.values == {"prompt_class": "Code", "tokens": (a, b), "ratio": pytest.approx(tokens / 100)}


def test_the_worst_class_of_lengths_is_told() -> None:
    def two(tokens: int) -> RunFacts:
        return of(*streams(3), *(request(5 + n, prompt_class="Q&A", completion_tokens=tokens) for n in range(2)))

    assert row(RowCode.LENGTHS, of(*streams(1)), answers(30, prompt_class="Code")).values["ratio"] == 3.0
    grown = of(*(replace(r, completion_tokens=30) for r in streams(3)), *two(10).loads[0].measured[3:])
    assert row(RowCode.LENGTHS, two(10), grown).values["prompt_class"] == "Code"
    actual_row = row(RowCode.LENGTHS, two(10), two(30))
    assert (
        actual_row.status is MATTERS
        and actual_row.values["prompt_class"] == "Q&A"
        and actual_row.values["ratio"] == 3.0
    )
    assert row(RowCode.LENGTHS, run("b"), two(10)).status is UNKNOWN


def test_other_concurrency_lengths_are_ignored() -> None:
    """Decode speed is of one stream: answers that grew at 8 streams do not concern it."""

    def run_of_lengths(tokens: int) -> RunFacts:
        return of(*streams(4), *(replace(r, phase_index=2, completion_tokens=tokens) for r in streams(2, 8)))

    assert row(RowCode.LENGTHS, run_of_lengths(10), run_of_lengths(40)).status is SAME
    assert row(RowCode.LENGTHS, run_of_lengths(10), run_of_lengths(40), "output_tps@8").status is MATTERS


def looping(share: float | None, **fields: Any) -> RunFacts:
    extra = {"collapse": {"looped_ratio": share}} if share is not None else {}
    return of(*(request(n, n, extra=extra, **fields) for n in range(4)))


@pytest.mark.parametrize(
    ("shares", "ratio", "standing"),
    [
        ((0.0, 0.1), 2.0, SAME),
        ((0.0, 0.11), 2.0, MATTERS),
        ((0.11, 0.0), 0.5, MATTERS),
        ((0.11, 0.0), 2.0, TOLD),
        ((0.0, 0.11), 0.5, TOLD),
        ((0.25, 0.35), 2.0, TOLD),
        ((0.5, 0.59), 2.0, TOLD),
        ((0.5, 0.61), 2.0, MATTERS),
        ((0.0, 0.5), None, TOLD),
        ((0.0, None), 2.0, UNKNOWN),
        ((None, 0.9), 2.0, UNKNOWN),
    ],
)
def test_loops(shares: tuple[float | None, float | None], ratio: float | None, standing: RowStatus) -> None:
    actual_row = row(RowCode.LOOPS, looping(shares[0]), looping(shares[1]), ratio=ratio)
    assert actual_row.status is standing
    if standing is not UNKNOWN:
        assert actual_row.values["looped"] == pytest.approx(shares) and actual_row.values["past_the_end"] is False


def test_of_a_time_the_shorter_is_the_faster() -> None:
    assert row(RowCode.LOOPS, looping(0.0), looping(0.9), "ttft_ms@1", ratio=0.5).status is MATTERS
    assert row(RowCode.LOOPS, looping(0.0), looping(0.9), "ttft_ms@1", ratio=2.0).status is TOLD


def test_end_loops_noted_only_when_all_pass_end() -> None:
    past, plain = {"sampling": {"ignore_eos": True}}, {"speculates": False}
    calm, late = (replace(looping(share, **past), **plain) for share in (0.0, 0.5))
    actual_row = row(RowCode.LOOPS, calm, late, ratio=2.0)
    assert actual_row.status is TOLD and actual_row.values["past_the_end"] is True
    assert row(RowCode.LOOPS, replace(looping(0.0), **plain), late, ratio=2.0).status is MATTERS
    early = row(RowCode.LOOPS, calm, replace(looping(0.51, **past), **plain), ratio=2.0)
    assert early.status is MATTERS and early.values["past_the_end"] is False, "they looped before half of the text"
    for drafting in (True, None):
        assert row(RowCode.LOOPS, calm, replace(late, speculates=drafting), ratio=2.0).status is MATTERS
        assert row(RowCode.LOOPS, replace(calm, speculates=drafting), late, ratio=2.0).status is TOLD


def test_place_of_a_loop_is_its_onset() -> None:
    def onset(word: int) -> RunFacts:
        collapse = {"looped_ratio": 0.3, "onset_word": word, "words": 100}
        requests = (request(n, n, extra={"collapse": collapse}, sampling={"ignore_eos": True}) for n in range(4))
        return replace(of(*requests), speculates=False)

    calm = replace(looping(0.0, sampling={"ignore_eos": True}), speculates=False)
    assert row(RowCode.LOOPS, calm, onset(50), ratio=2.0).status is TOLD
    assert row(RowCode.LOOPS, calm, onset(49), ratio=2.0).status is MATTERS


def test_loops_unknown_with_an_unjudged_answer() -> None:
    part = of(request(0), request(1, extra={}))
    assert row(RowCode.LOOPS, part, part, ratio=2.0).status is UNKNOWN
