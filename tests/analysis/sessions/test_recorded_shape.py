"""The shape of recorded agent sessions: lengths, shared prefixes, and what each request waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.sessions.agent_shape import ANSWER, AgentShape, SharedPrefix
from analysis.sessions.recorded_shape import shape_of
from analysis.sessions.turns import turns_of
from tests.analysis.sessions.recorded_chats import HandMadeRecording, chat

Body = dict[str, Any]


def shape(*requests: tuple[Body, int, int | None], at_s: Sequence[float] = (), **more: Any) -> AgentShape:
    """The shape of requests with their prompt's tokens and cached tokens, 10 s apart or at these times."""
    recording = HandMadeRecording()
    for number, (body, prompt_tokens, cached) in enumerate(requests):
        recording.add(body, prompt_tokens, cached, at_s=at_s[number] if at_s else None, **more)
    return shape_of(turns_of(recording.rows))


def test_a_turn_shares_the_prompt_before_it_and_adds_answer_and_result() -> None:
    actual_shape = shape((chat("a"), 300, 0), (chat("a", "b", "c"), 520, 300))
    first, second = actual_shape.requests
    assert first.shares is None and first.prompt_tokens == 300 and [s.kind for s in first.spans] == ["system", "text"]
    assert second.shares == SharedPrefix(0, 300) and second.follows == 0
    assert [(span.kind, span.tokens) for span in second.spans] == [(ANSWER, 10), ("text", 210)]
    assert actual_shape.computed_tokens == 520 and actual_shape.cached_answer_tokens == 0


def test_cached_answer_is_counted_as_one() -> None:
    actual_shape = shape((chat("a"), 300, 0), (chat("a", "b", "c"), 520, 309))
    assert actual_shape.requests[1].shares == SharedPrefix(0, 300) and actual_shape.cached_answer_tokens == 9


def test_end_that_the_template_writes_is_not_shared() -> None:
    assert shape((chat("a"), 300, 0), (chat("a", "b", "c"), 520, 295)).requests[1].shares == SharedPrefix(0, 295)
    blocks = shape((chat("a"), 300, 0), (chat("a", "b", "c"), 520, 288))
    assert blocks.requests[1].shares == SharedPrefix(0, 300), "a server of whole blocks reports multiples of 16"


def test_lost_cache_is_no_change_of_the_prompt() -> None:
    assert shape((chat("a"), 300, 0), (chat("a", "b", "c"), 520, 0)).requests[1].shares == SharedPrefix(0, 300)


def test_changed_part_is_shared_as_far_as_the_server_had_it() -> None:
    changed = chat("a", system="s" * 300 + "X" + "s" * 99)
    counted = shape((chat("a"), 200, 0), (changed, 200, 61)).requests[1]
    assert counted.shares == SharedPrefix(0, 61) and counted.prompt_tokens == 200
    by_pieces = shape((chat("a"), 200, None), (changed, 200, None)).requests[1]
    assert by_pieces.shares == SharedPrefix(0, 64), "256 of the 400 bytes of 100 tokens are alike"


def test_subagents_start_together_and_are_waited_for() -> None:
    main, first, second = chat("a"), chat("first task"), chat("second task")
    goes_on = chat("a", "b", "c")
    actual_shape = shape((main, 300, 0), (first, 250, 0), (second, 260, 0), (goes_on, 520, 300), at_s=(0, 3, 3.5, 9))
    assert [request.session for request in actual_shape.requests] == [0, 1, 2, 0]
    assert [request.waits_for for request in actual_shape.requests] == [(), (0,), (0,), (0, 1, 2)]
    assert [request.pause_s for request in actual_shape.requests] == [0.0, 1.0, 1.5, 3.5]
    assert actual_shape.requests[0].arrives_s == 0.0


def test_failed_requests_are_left_out_and_counted() -> None:
    recording = HandMadeRecording()
    recording.add(chat("a"), 300, 0)
    recording.add(chat("a", "b", "c"), 0, None, error_kind="http")
    recording.add(chat("a", "b", "c", "d"), 600, 300)
    shape = shape_of(turns_of(recording.rows))
    assert shape.header.left_out_requests == 1 and [r.follows for r in shape.requests] == [None, 0]


def test_image_becomes_a_part_of_the_prompt_that_is_told() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    body = {"messages": [{"role": "user", "content": [image, {"type": "text", "text": "x" * 400}]}]}
    actual_shape = shape((body, 500, 0))
    assert actual_shape.images == 1 and actual_shape.requests[0].prompt_tokens == 500


def test_text_that_a_template_moves_with_every_turn_is_shared_as_far_as_the_server_had_it() -> None:
    """Tools of 600 tokens behind the messages, in blocks of 128; the last turn has one more tool."""
    texts = "abcdefghijk"
    requests = shape(
        (chat(*texts[:1]), 1300, 0),
        (chat(*texts[:3]), 1900, 640),
        (chat(*texts[:5]), 2500, 1280),
        (chat(*texts[:7]), 3100, 1920),
        (chat("another task"), 1400, 384),
        (chat(*texts[:9]), 3700, 2560),
        (chat(*texts), 4500, 2816),
    ).requests
    assert [r.shares and r.shares.tokens for r in requests] == [None, 640, 1280, 1920, 384, 2560, 2816]
    lost_requests = shape((chat("a"), 1300, 0), (chat("a", "b", "c"), 1900, 640)).requests
    assert lost_requests[1].shares == SharedPrefix(0, 1300), "once, the server may have dropped it"
