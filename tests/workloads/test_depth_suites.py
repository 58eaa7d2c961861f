"""Tool calls at depth and needles against labelled fakes that answer wrongly beyond a depth or forget facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.loads.depth_holds import DepthHolds, depth_holds
from load_records import RequestRecord, SuiteCheck
from tests.workloads.test_tool_matrix import Said, http, load, right
from workloads import REGISTRY
from workloads.plan import PlannedRequest
from workloads.suites.needles import codes_in, draw_needles

Body = Mapping[str, Any]
DEPTHS = [100, 1000, 4000]
BREAKING_CHARACTERS = 3000 * 4.6
FACT = re.compile(r"The access code of the ([a-z]+ [a-z]+) is (\d{6})")


def characters(body: Body) -> int:
    return sum(len(message["content"] or "") for message in body["messages"])


def checks_of(name: str, answer: Callable[[Body], Said | bytes], folder: Path, **params: Any) -> list[SuiteCheck]:
    fields = {"depth_tokens": DEPTHS, "repeats": 2} | params
    lines = load(answer, folder, workload=name, params=fields)
    assert not [line for line in lines if isinstance(line, RequestRecord) and line.error_kind not in (None, "http")]
    return [line for line in lines if isinstance(line, SuiteCheck)]


def claims_of(checks: list[SuiteCheck]) -> DepthHolds:
    (claims,) = depth_holds(checks)
    return claims


def found_facts(body: Body) -> dict[str, str]:
    return dict(FACT.findall(" ".join(message["content"] for message in body["messages"])))


def recall(body: Body) -> Said:
    """The right answer about the facts of the text."""
    facts, question = found_facts(body), body["messages"][-1]["content"]
    return Said("\n".join(f"{name}: {code}" for name, code in facts.items() if f"the {name}" in question))


def forget(body: Body) -> Said:
    """The same by a server that forgets what stands in the middle of a long text."""
    facts, question = list(found_facts(body).items()), body["messages"][-1]["content"]
    if characters(body) > BREAKING_CHARACTERS:
        facts = [*facts[:2], *facts[-2:]]
    return Said("\n".join(code for thing, code in facts if f"the {thing}" in question) or "I do not know.")


def test_tools_break_at_the_depth_where_they_do(tmp_path: Path) -> None:
    def answer(body: Body) -> Said:
        return right(body) if characters(body) < BREAKING_CHARACTERS else Said("Sure!")

    claims = claims_of(checks_of("tools-at-depth", answer, tmp_path))
    assert [(share.depth_tokens, share.passed, share.n) for share in claims.shares] == [
        (100, 24, 24), (1000, 24, 24), (4000, 0, 24)
    ]  # fmt: skip
    assert claims.breaks_at == 4000
    assert claims.holds_until == 100, "24 cases without a fault leave room for more than 10 %"


def test_more_repeats_settle_that_tools_hold(tmp_path: Path) -> None:
    claims = claims_of(checks_of("tools-at-depth", right, tmp_path, repeats=4))
    assert (claims.holds_until, claims.breaks_at) == (4000, None)


def test_right_server_recalls_every_needle(tmp_path: Path) -> None:
    checks = checks_of("needles", recall, tmp_path)
    assert len(checks) == 13 * 2 * len(DEPTHS) and all(check.is_pass for check in checks), [c.why for c in checks]


def test_forgotten_middle_is_named_by_place(tmp_path: Path) -> None:
    checks = checks_of("needles", forget, tmp_path, repeats=3)
    failed = {check.case_name for check in checks if not check.is_pass}
    assert {check.depth_tokens for check in checks if not check.is_pass} == {4000}
    assert failed == {f"Fact at {place} %" for place in (25, 35, 45, 55, 65, 75)} | {
        f"Four facts, {n}" for n in (1, 2, 3)
    }
    assert claims_of(checks).breaks_at == 4000
    why = next(check.why for check in checks if check.case_name == "Fact at 45 %" and not check.is_pass)
    assert why and "no right code for" in why and "I do not know." in why


def test_a_server_that_lists_every_code_fails(tmp_path: Path) -> None:
    checks = checks_of("needles", lambda body: Said(" ".join(found_facts(body).values())), tmp_path, repeats=1)
    assert not any(check.is_pass for check in checks)
    assert all("a code that was not asked for" in (check.why or "") for check in checks)


def test_depth_beyond_the_context_was_not_tried(tmp_path: Path) -> None:
    refusal = http(400, {"error": "the request exceeds the available context size"})
    checks = checks_of(
        "needles", lambda body: recall(body) if characters(body) < BREAKING_CHARACTERS else refusal, tmp_path
    )
    assert {check.is_pass for check in checks if check.depth_tokens == 4000} == {None}
    assert [share.depth_tokens for share in claims_of(checks).shares] == [100, 1000]


@pytest.mark.parametrize("name", ["tools-at-depth", "needles"])
def test_plan_of_long_requests_stays_small(name: str) -> None:
    (phase,) = REGISTRY[name].plan({"depth_tokens": [0, 1_000_000], "repeats": 2})
    assert all(sum(len(str(message)) for message in request.messages) < 1000 for request in phase.requests)
    hashes = [request.item_hash() for request in phase.requests]
    assert len(set(hashes)) == len(hashes), "every request is an item of its own"


def test_longer_dialogue_begins_with_the_shorter_one() -> None:
    """So the prefix cache has most of it: only the shorter one's last message differs."""
    (phase,) = REGISTRY["tools-at-depth"].plan({"depth_tokens": [1000, 3000], "repeats": 1})
    short, long = (texts(phase.requests[place]) for place in (0, -1))
    shared = next(n for n, (first, second) in enumerate(zip(short, long, strict=False)) if first != second)
    assert shared >= len(short) - 3
    assert sum(map(len, long)) / 4.6 == pytest.approx(3000, rel=0.1)


def texts(request: PlannedRequest) -> list[str]:
    return [str(message["content"]) for message in request.sent_messages()]


def test_needle_places_are_spread_over_the_text() -> None:
    (phase,) = REGISTRY["needles"].plan({"depth_tokens": [20_000], "repeats": 1})
    document = texts(phase.requests[0])[0]
    places = [match.start() / len(document) for match in FACT.finditer(document)]
    assert len(places) == 10 and len(document) / 4.6 == pytest.approx(20_000, rel=0.02)
    assert all(abs(place - (n + 0.5) / 10) < 0.05 for n, place in enumerate(places))


def test_codes_are_read_however_they_are_written() -> None:
    assert codes_in("It is 483 920.\n- amber safe: **112-233**; in 2026 there were 57 laps") == {"483920", "112233"}
    assert codes_in("none, 1234567 is too long and 12345 too short") == set()
    assert len({needle.code for needle in draw_needles("7")}) == 10
