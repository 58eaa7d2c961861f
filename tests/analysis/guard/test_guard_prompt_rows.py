"""The guard's rows about the prompts, on their thresholds: texts, context, prefix cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import RowCode, RowStatus
from tests.analysis.comparison.hand_made import request, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from tests.analysis.guard.test_guard_rows import COMPARED, MATTERS, SAME, TOLD, UNKNOWN, of, older, row


def prompts_of(tokens: int | None, cached: int | None = 0) -> RunFacts:
    extra = {"cached_prompt_tokens": cached}
    return of(*(request(n, n, prompt_tokens=tokens, extra=extra) for n in range(4)))


def test_prompts() -> None:
    one = of(*streams(3))
    actual_row = row(RowCode.PROMPTS, one, of(*streams(2)))
    assert actual_row.status is SAME and actual_row.values == {"matched": 2, "measured": 3}
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash="other")).status is MATTERS
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash=None)).status is MATTERS
    assert row(RowCode.PROMPTS, run("a"), run("b")).values == {"matched": 0, "measured": 0}
    bare = of(*streams(3), prompt_set_hash=None)
    assert row(RowCode.PROMPTS, bare, bare).status is UNKNOWN
    few = row(
        RowCode.PROMPTS, of(*streams(4)), of(request(0), *(request(n, n, error_kind="cancelled") for n in (1, 2, 3)))
    )
    assert few.status is TOLD and few.values == {"matched": 1, "measured": 4}
    assert row(RowCode.PROMPTS, of(*streams(4)), of(*streams(2))).status is SAME, "half of them are shared"
    mixed = [one, of(*streams(3), prompt_set_hash="other")]
    assert row(RowCode.PROMPTS, mixed, mixed).status is MATTERS


def test_older_load_prompts_compared_by_text() -> None:
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*streams(2))).status is SAME
    nothing = older(*[replace(r, phase="warmup") for r in streams(1)])
    assert row(RowCode.PROMPTS, nothing, nothing).status is UNKNOWN
    others = [replace(r, prompt_hash="x") for r in streams(2)]
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*others)).status is MATTERS


@pytest.mark.parametrize(
    ("tokens", "standing"), [(100, SAME), (120, SAME), (121, TOLD), (83, TOLD), (0, UNKNOWN), (None, UNKNOWN)]
)
def test_context(tokens: int | None, standing: RowStatus) -> None:
    """Another model may cut the same text into other tokens; of one model it was another text, such as a part of it."""
    prompts, there = prompts_of(100), prompts_of(tokens)
    other = replace(there, served=replace(SERVED, model="org/another"))
    actual_row = row(RowCode.CONTEXT, prompts, other)
    assert actual_row.status is standing and actual_row.values == {"prompt_tokens": (100, tokens or None)}
    assert row(RowCode.CONTEXT, prompts, there).status is (MATTERS if standing is TOLD else standing)


NEEDING_PREFILL = (
    "ttft_ms@1", "ttft_p95_ms@1", "e2e_ms@1", "e2e_p95_ms@1", "output_tps@1", "work_s@1", "prompt_tps@1",
    "request_tps@1",
)  # fmt: skip


@pytest.mark.parametrize(
    ("cached", "ttft", "decode"), [(5, SAME, SAME), (10, SAME, SAME), (20, MATTERS, TOLD), (None, UNKNOWN, UNKNOWN)]
)
def test_prefix_cache(cached: int | None, ttft: RowStatus, decode: RowStatus) -> None:
    for a, b in ((prompts_of(100), prompts_of(100, cached)), (prompts_of(100, cached), prompts_of(100))):
        assert row(RowCode.PREFIX_CACHE, a, b).status is decode
        for objective in NEEDING_PREFILL:
            assert row(RowCode.PREFIX_CACHE, a, b, objective).status is ttft
        assert row(RowCode.PREFIX_CACHE, a, b, "tokens_per_j").status is ttft, "prefill takes energy"


def test_equally_cached_prompts_are_the_same() -> None:
    actual_row = row(RowCode.PREFIX_CACHE, prompts_of(100, 80), prompts_of(100, 85), "ttft_ms@1")
    assert actual_row.status is SAME and actual_row.values == {"cached_share": (0.8, 0.85)}
    assert row(RowCode.PREFIX_CACHE, run("a"), run("b")).status is UNKNOWN
    part = of(request(0, extra={"cached_prompt_tokens": 5}), request(1, extra={}))
    assert row(RowCode.PREFIX_CACHE, part, part).status is UNKNOWN
    assert row(RowCode.CONTEXT, run("a"), run("b")).status is UNKNOWN


def test_prefix_caching_can_be_compared_setting() -> None:
    off = replace(prompts_of(100), served=replace(SERVED, settings={"prefix_caching": False}))
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").status is COMPARED
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").values == {"cached_share": (0.0, 0.5)}
