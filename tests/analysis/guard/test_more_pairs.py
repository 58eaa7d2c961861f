"""Further pairs that look like the others and are not: five that must not be ranked, and five that must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from analysis.guard import RowCode, RowStatus
from analysis.verdict import VerdictAnswer
from load_records import RequestRecord
from tests.analysis.comparison.hand_made import arm, faster, load, request, run
from tests.analysis.comparison.ideal_engine import SERVED

ASKED = [request(n, float(n), prompt_class=name) for n, name in enumerate(("Code", "Q&A") * 4)]
Requests = Sequence[RequestRecord]


def starts(speed: float = 1.0, requests: Requests = ASKED, name: str = "b", **served: Any) -> Arm:
    """Two starts 1 % apart."""
    loads = [load(faster(requests, speed * (1 + n / 100))) for n in range(2)]
    return arm(*(run(f"{name}{n}", load, served=replace(SERVED, **served)) for n, load in enumerate(loads)))


def changed_requests(change: Callable[[RequestRecord], RequestRecord]) -> Requests:
    return [change(one) for one in ASKED]


def with_cache(share: float) -> Requests:
    return changed_requests(lambda r: replace(r, extra={**r.extra, "cached_prompt_tokens": int(share * 100)}))


UNLIKE: list[tuple[str, Arm, Arm, str, RowCode]] = [
    (
        "the server cut the prompts to their last half",
        starts(name="a"),
        starts(1.5, changed_requests(lambda r: replace(r, prompt_tokens=50))),
        "decode_tps",
        RowCode.CONTEXT,
    ),
    (
        "one class alone was answered at length",
        starts(name="a"),
        starts(1.5, changed_requests(lambda r: replace(r, completion_tokens=40) if r.prompt_class == "Q&A" else r)),
        "decode_tps",
        RowCode.LENGTHS,
    ),
    (
        "the prompts of one arm were in its cache",
        starts(name="a", requests=with_cache(0.0)),
        starts(1.5, with_cache(0.9)),
        "ttft_ms@1",
        RowCode.PREFIX_CACHE,
    ),
    (
        "one of an arm's starts was on another machine",
        starts(name="a"),
        arm(*starts(1.5).runs, replace(starts(1.5).runs[0], run_id="b9", served=replace(SERVED, machine_id="m2"))),
        "decode_tps",
        RowCode.HARDWARE,
    ),
    (
        "files of another revision under the same name",
        starts(name="a"),
        starts(1.5, model_files="a later commit"),
        "decode_tps",
        RowCode.MODEL,
    ),
]


@pytest.mark.parametrize(("name", "a", "b", "objective", "code"), UNLIKE, ids=[one[0] for one in UNLIKE])
def test_unlike_pairs_are_refused_by_one_row(name: str, a: Arm, b: Arm, objective: str, code: RowCode) -> None:
    (comparison,) = compare_arms([a, b], parse_objective(objective))
    assert [row.code for row in comparison.refused] == [code] and not comparison.is_ranked


def other_tokenizer(run: RunFacts) -> RunFacts:
    return replace(run, served=replace(run.served, model="org/other", model_files="o"))


ALIKE: list[tuple[str, Arm, Arm]] = [
    (
        "a folder of the machine and the hub's name of the same files",
        starts(name="a", model="Qwen/Qwen3-32B"),
        starts(1.5, model="/models/Qwen3-32B/"),
    ),
    (
        "four bits by another maker, in files of their own",
        starts(name="a", model="Qwen/Qwen3-32B"),
        starts(1.5, model="RedHatAI/Qwen3-32B-quantized.w4a16", model_files="w4a16"),
    ),
    (
        "a template with a few words more",
        starts(name="a"),
        starts(1.5, changed_requests(lambda r: replace(r, prompt_tokens=112))),
    ),
    (
        "one request of a class failed in one start",
        starts(name="a", requests=[request(n, float(n)) for n in range(100)]),
        starts(1.5, [request(n, float(n), error_kind="http" if n == 3 else None) for n in range(100)]),
    ),
    (
        "two GPUs of the kind for one",
        starts(name="a"),
        starts(1.5, gpus=("H100", "H100"), settings={**SERVED.settings, "tensor_parallel": 2}),
    ),
]


@pytest.mark.parametrize(("name", "a", "b"), ALIKE, ids=[one[0] for one in ALIKE])
def test_alike_pairs_are_ranked(name: str, a: Arm, b: Arm) -> None:
    (comparison,) = compare_arms([a, b], parse_objective("decode_tps"))
    assert comparison.refused == [] and comparison.judgement and comparison.judgement.answer is VerdictAnswer.BETTER
    assert comparison.judgement.ratio == pytest.approx(1.5, rel=0.001)


def test_a_part_of_the_requests_is_told() -> None:
    """A tool that stops by the clock leaves what it has in flight: what is shared counts, and how little is said."""
    part = [r if n == 0 else replace(r, error_kind="cancelled") for n, r in enumerate(ASKED)]
    (comparison,) = compare_arms([starts(name="a"), starts(1.5, part)], parse_objective("decode_tps"))
    rows = next(row for row in comparison.rows if row.code is RowCode.PROMPTS)
    assert rows.status is RowStatus.TOLD and rows.values == {"matched": 1, "measured": 8}


def test_other_tokenizer_allowed_between_models() -> None:
    long = changed_requests(lambda r: replace(r, prompt_tokens=150))
    b = arm(*map(other_tokenizer, starts(1.5, long).runs))
    (comparison,) = compare_arms([starts(name="a"), b], parse_objective("decode_tps"), declared={RowCode.MODEL})
    assert comparison.is_ranked
    assert next(row for row in comparison.rows if row.code is RowCode.CONTEXT).status is RowStatus.TOLD
