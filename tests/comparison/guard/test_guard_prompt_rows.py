"""The guard's rows about the prompts, on their thresholds: texts, context, prefix cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import RowCode, Standing
from tests.comparison.guard.test_guard_rows import COMPARED, MATTERS, SAME, TOLD, UNKNOWN, of, older, row
from tests.comparison.hand_made import request, run, streams
from tests.comparison.ideal_engine import SERVED


def prompts_of(tokens: int | None, cached: int | None = 0) -> RunFacts:
    extra = {"cached_prompt_tokens": cached}
    return of(*(request(n, n, prompt_tokens=tokens, extra=extra) for n in range(4)))


def test_prompts() -> None:
    one = of(*streams(3))
    found = row(RowCode.PROMPTS, one, of(*streams(2)))
    assert found.standing is SAME and found.values == {"matched": 2, "measured": 3}
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash="other")).standing is MATTERS
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash=None)).standing is MATTERS
    assert row(RowCode.PROMPTS, run("a"), run("b")).values == {"matched": 0, "measured": 0}
    bare = of(*streams(3), prompt_set_hash=None)
    assert row(RowCode.PROMPTS, bare, bare).standing is UNKNOWN
    few = row(
        RowCode.PROMPTS, of(*streams(4)), of(request(0), *(request(n, n, error_kind="cancelled") for n in (1, 2, 3)))
    )
    assert few.standing is TOLD and few.values == {"matched": 1, "measured": 4}
    assert row(RowCode.PROMPTS, of(*streams(4)), of(*streams(2))).standing is SAME, "half of them are shared"
    mixed = [one, of(*streams(3), prompt_set_hash="other")]
    assert row(RowCode.PROMPTS, mixed, mixed).standing is MATTERS


def test_the_prompts_of_older_loads_are_held_by_their_texts() -> None:
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*streams(2))).standing is SAME
    nothing = older(*[replace(r, phase="warmup") for r in streams(1)])
    assert row(RowCode.PROMPTS, nothing, nothing).standing is UNKNOWN
    others = [replace(r, prompt_hash="x") for r in streams(2)]
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*others)).standing is MATTERS


@pytest.mark.parametrize(
    ("tokens", "standing"), [(100, SAME), (120, SAME), (121, TOLD), (83, TOLD), (0, UNKNOWN), (None, UNKNOWN)]
)
def test_context(tokens: int | None, standing: Standing) -> None:
    """Another model may cut the same text into other tokens; of one model it was another text, such as a part of it."""
    here, there = prompts_of(100), prompts_of(tokens)
    other = replace(there, served=replace(SERVED, model="org/another"))
    found = row(RowCode.CONTEXT, here, other)
    assert found.standing is standing and found.values == {"prompt_tokens": (100, tokens or None)}
    assert row(RowCode.CONTEXT, here, there).standing is (MATTERS if standing is TOLD else standing)


@pytest.mark.parametrize(
    ("cached", "ttft", "decode"), [(5, SAME, SAME), (10, SAME, SAME), (20, MATTERS, TOLD), (None, UNKNOWN, UNKNOWN)]
)
def test_prefix_cache(cached: int | None, ttft: Standing, decode: Standing) -> None:
    for a, b in ((prompts_of(100), prompts_of(100, cached)), (prompts_of(100, cached), prompts_of(100))):
        assert row(RowCode.PREFIX_CACHE, a, b).standing is decode
        for objective in ("ttft_ms@1", "ttft_p95_ms@1", "e2e_ms@1", "e2e_p95_ms@1", "output_tps@1", "work_s@1"):
            assert row(RowCode.PREFIX_CACHE, a, b, objective).standing is ttft
        assert row(RowCode.PREFIX_CACHE, a, b, "tokens_per_j").standing is ttft, "prefill takes energy"


def test_prompts_that_came_from_the_cache_alike_are_the_same() -> None:
    found = row(RowCode.PREFIX_CACHE, prompts_of(100, 80), prompts_of(100, 85), "ttft_ms@1")
    assert found.standing is SAME and found.values == {"cached_share": (0.8, 0.85)}
    assert row(RowCode.PREFIX_CACHE, run("a"), run("b")).standing is UNKNOWN
    part = of(request(0, extra={"cached_prompt_tokens": 5}), request(1, extra={}))
    assert row(RowCode.PREFIX_CACHE, part, part).standing is UNKNOWN
    assert row(RowCode.CONTEXT, run("a"), run("b")).standing is UNKNOWN


def test_prefix_caching_as_a_setting_is_what_is_compared() -> None:
    off = replace(prompts_of(100), served=replace(SERVED, settings={"prefix_caching": False}))
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").standing is COMPARED
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").values == {"cached_share": (0.0, 0.5)}
