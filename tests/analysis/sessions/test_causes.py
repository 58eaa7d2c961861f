"""Causes that only some servers can show, by recordings made by hand, and what is said if none has evidence."""

from __future__ import annotations

from datetime import timedelta

import pytest

from analysis.sessions.causes import CauseKind, PrefixMiss, ServerEvidence, ServerSighting, prefix_misses, totals_of
from analysis.sessions.prompt_part import decode_order, encode_order, stored_prefix
from analysis.sessions.turns import turns_of
from tests.analysis.sessions.recorded_chats import BEGUN, HandMadeRecording, chat

TEXTS = ("a", "b", "c")


def miss_of(recording: HandMadeRecording, evidence: ServerEvidence = ServerEvidence()) -> PrefixMiss:  # noqa: B008
    (miss,) = prefix_misses(turns_of(recording.rows), evidence)
    return miss


def same_prefix(cached: int) -> HandMadeRecording:
    """Two turns, of which the second finds only so many of 1,000 tokens in the cache."""
    recording = HandMadeRecording()
    recording.add(chat(*TEXTS), 1000, 0)
    recording.add(chat(*TEXTS, "d", "e"), 1500, cached)
    return recording


def sighting(at_s: float, **fields: object) -> ServerSighting:
    facts = {"is_new_process": False, "preemptions": 0.0, "kv_usage_ratio": None} | fields
    return ServerSighting(BEGUN + timedelta(seconds=at_s), **facts)  # type: ignore[arg-type]


def test_full_kv_cache_and_preemptions_are_an_eviction() -> None:
    evidence = ServerEvidence([sighting(3, kv_usage_ratio=0.97), sighting(5, preemptions=3.0)])
    cause = miss_of(same_prefix(160), evidence).cause
    assert cause and (cause.kind, cause.kv_usage_ratio, cause.preemptions) == (CauseKind.EVICTED, 0.97, 3.0)


def test_sightings_before_and_after_the_two_turns_are_no_evidence() -> None:
    evidence = ServerEvidence([sighting(-1, preemptions=3.0), sighting(11.5, kv_usage_ratio=0.99)])
    miss = miss_of(same_prefix(160), evidence)
    assert (miss.cause, miss.candidates, miss.excess_tokens) == (None, (), 840)


def test_restart_and_eviction_together_are_not_known() -> None:
    evidence = ServerEvidence([sighting(3, preemptions=1.0), sighting(5, is_new_process=True)])
    miss = miss_of(same_prefix(0), evidence)
    assert miss.cause is None
    assert {cause.kind for cause in miss.candidates} == {CauseKind.RESTARTED, CauseKind.EVICTED}


def test_cache_that_is_off_explains_every_miss() -> None:
    cause = miss_of(same_prefix(0), ServerEvidence(is_caching=False)).cause
    assert cause and cause.kind is CauseKind.CACHING_OFF
    assert miss_of(same_prefix(160), ServerEvidence(is_caching=False)).cause is None, "it reported cached tokens"


def test_request_sent_before_the_end_of_the_earlier_one() -> None:
    recording = HandMadeRecording()
    recording.add(chat(*TEXTS), 1000, 0)
    recording.add(chat(*TEXTS, "d"), 1200, 0, at_s=1.5)
    miss = miss_of(recording)
    assert miss.cause and miss.cause.kind is CauseKind.OVERLAPPED
    assert miss.turn.pause_s is None


def test_cache_that_ends_before_the_changed_part_is_not_known() -> None:
    """The content explains a break behind 1,200 of 2,400 bytes; the server computed all of them."""
    for cached, is_named in ((500, True), (0, False), (950, False)):
        recording = HandMadeRecording()
        recording.add(chat("a", "b", "c", "d", "e"), 1000, 0)
        recording.add(chat("a", "b", "C", "d", "e", "f"), 1150, cached)
        miss = prefix_misses(turns_of(recording.rows), ServerEvidence())
        if cached == 950:
            assert [one.cause for one in miss] == [None], "more was cached than the content allows"
        else:
            assert [one.cause is not None for one in miss] == [is_named]
            assert miss[0].cause or [cause.kind for cause in miss[0].candidates] == [CauseKind.CONTENT]


def test_failed_request_is_no_reference() -> None:
    recording = HandMadeRecording()
    recording.add(chat(*TEXTS), 1000, 0)
    recording.add(chat(*TEXTS, "d", "e"), 1500, None, error_kind="http", completion_tokens=None)
    recording.add(chat(*TEXTS, "d", "e"), 1500, 1000)
    turns = turns_of(recording.rows)
    assert turns[2].reference is turns[0] and prefix_misses(turns, ServerEvidence()) == []


def test_no_miss_is_told_where_the_server_reports_no_cached_tokens() -> None:
    recording = HandMadeRecording()
    recording.add(chat(*TEXTS), 1000, None)
    recording.add(chat(*TEXTS, "d"), 1500, None)
    turns = turns_of(recording.rows)
    assert [turn.computed_tokens for turn in turns] == [None, None]
    assert prefix_misses(turns, ServerEvidence()) == []


def test_side_question_begins_a_branch_that_goes_on() -> None:
    recording = HandMadeRecording()
    for texts in (
        ("a",),
        ("a", "b", "c"),
        ("a", "b", "other"),
        ("a", "b", "c", "d", "e"),
        ("a", "b", "other", "x", "y"),
    ):
        recording.add(chat(*texts), 100 * len(texts), 0)
    turns = turns_of(recording.rows)
    assert [turn.branch for turn in turns] == [0, 0, 1, 0, 1]
    assert len({turn.session for turn in turns}) == 1


def test_newest_of_equal_requests_is_continued() -> None:
    recording = HandMadeRecording()
    for texts in (("a", "b", "c"), ("a", "b", "c"), ("a", "b", "c", "d")):
        recording.add(chat(*texts), 100, 0)
    turns = turns_of(recording.rows)
    assert [turn.follows for turn in turns] == [None, *turns[:2]] and turns[2].depth == 2


def test_causes_are_ranked_by_what_they_cost() -> None:
    recording, system = HandMadeRecording(), "s" * 400
    recording.add(chat("a", "b", "c", system=f"0{system}"), 1000, 0)
    for number in (1, 2):
        recording.add(chat("a", "b", "c", system=f"{number}{system}"), 1000, 0)
    recording.add(chat("a", "b", "c", "d", system=f"2{system}"), 1200, 900)
    misses = prefix_misses(turns_of(recording.rows), ServerEvidence())
    first, second = totals_of(misses)
    assert first.cause and first.excess_tokens == 2000 and len(first.misses) == 2
    assert second.cause is None and second.excess_tokens == 100


@pytest.mark.parametrize(
    "order",
    [[(0, 5)], [(-1, 1)], [(0, 0)], [(0, 4)] * 2000, ["a"] * 5000],
    ids=["beyond", "below", "none", "many", "long"],
)
def test_forged_orders_are_refused(order: list[str | tuple[int, int]]) -> None:
    assert decode_order(order, ["a", "b", "c", "d"]) is None


def test_forged_prompts_are_no_prompts() -> None:
    for prefix in (
        3,
        {"session": 1},
        {"session": "a", "order": [[1]]},
        {"session": "a", "parts": {"a": {"kind": "x"}}},
    ):
        assert stored_prefix({"prefix": prefix}) is None
    recording = same_prefix(0)
    first, second = recording.rows
    assert [turn.parts for turn in turns_of([second])] == [None], "the request that it follows is not there"
    assert len(turns_of([second, first])) == 2


def test_an_order_is_short_for_what_moved_together() -> None:
    base = [str(number) for number in range(100)]
    assert encode_order(base, base) == [[0, 100]]
    assert encode_order(["new", *base[1:], "end"], base) == ["new", [1, 99], "end"]
    swapped = [*base[50:], *base[:50]]
    order = [entry if isinstance(entry, str) else (entry[0], entry[1]) for entry in encode_order(swapped, base)]
    assert len(order) == 2 and decode_order(order, base) == swapped


@pytest.mark.parametrize(("block", "misses"), [(128, 0), (1, 3)])
def test_last_block_of_a_cache_is_no_miss(block: int, misses: int) -> None:
    """Counts that are all multiples of 128 are those of a cache in blocks; others show tokens that were lost."""
    recording, texts = HandMadeRecording(), "abcdefghi"
    for turn, prompt_tokens in enumerate((600, 1107, 1510, 2010)):
        before = (0, 600, 1107, 1510)[turn]
        cached = before // 128 * 128 - (turn if block == 1 else 0)
        recording.add(chat(*texts[: 2 * turn + 1]), prompt_tokens, cached)
    actual_prefix_misses = prefix_misses(turns_of(recording.rows), ServerEvidence())
    assert len(actual_prefix_misses) == misses
