"""The guard's row about answers, and what the sentence says of it: measured, not measured, not comparable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.guard.quality import quality
from analysis.loads.fidelity import build_fidelity_loads
from tests.analysis.comparison.hand_made import pair_of, run
from tests.analysis.loads.test_fidelity import load, position
from web.compare.answer.guard_words import row_text
from web.compare.answer.sentence import quality_sentence


def start(name: str, changed_share: float | None = None, seed: int = 0, **settings: str) -> RunFacts:
    facts = run(name)
    served = replace(facts.served, settings={**facts.served.settings, **settings})
    loads = () if changed_share is None else (load(name, changed_share, seed),)
    return replace(facts, served=served, fidelity=loads)


def row_of(first: list[RunFacts], second: list[RunFacts]) -> GuardRow:
    return quality(pair_of(first, second))


@pytest.mark.parametrize(
    ("changed_share", "status", "words"),
    [
        (0.05, RowStatus.TOLD, "they differ more than two starts of the baseline do"),
        (0.0, RowStatus.SAME, "they differ no more than two starts of the baseline do, within 1 point"),
    ],
)
def test_measured_answers(changed_share: float, status: RowStatus, words: str) -> None:
    row = row_of([start("a", 0.0), start("a2", 0.0, 1)], [start("b", changed_share, 2)])
    assert row.status is status and words in row_text(row, {})
    actual_quality_sentence = quality_sentence(row, "f16")
    assert (
        actual_quality_sentence.startswith("Its answers: first choice as f16's at ")
        and "f16's own: 100.0 %" in actual_quality_sentence
    )


def test_one_start_of_the_reference_decides_nothing() -> None:
    row = row_of([start("a", 0.0)], [start("b", 0.05, 2)])
    assert row.status is RowStatus.UNKNOWN
    assert "its own was not measured" in quality_sentence(row, "A")


def test_unmeasured_answers_are_told_where_something_may_change_them() -> None:
    row = row_of([start("a", kv_cache_dtype="f16")], [start("b", kv_cache_dtype="q4_0")])
    assert row.status is RowStatus.TOLD
    assert quality_sentence(row, "A") == (
        "Its answers: not compared (another KV cache type): no fidelity load was run on both."
    )
    alike = row_of([start("a")], [start("b")])
    assert (alike.status, quality_sentence(alike, "A")) == (RowStatus.SAME, "")


def test_unknown_weights_are_not_the_same_answers() -> None:
    unknown = replace(start("a").served, is_configuration_known=False)
    row = row_of([replace(start("a"), served=unknown)], [replace(start("b"), served=unknown)])
    assert row.status is RowStatus.UNKNOWN
    assert row_text(row, {}) == "engine, weights and KV cache are not known to be the same; not compared"


def test_another_tokenizer_is_said() -> None:
    first = replace(run("a"), fidelity=tuple(build_fidelity_loads([position("a")])))
    second = replace(run("b"), fidelity=tuple(build_fidelity_loads([position("b", prefix_hash="other")])))
    row = row_of([first], [second])
    assert row.status is RowStatus.TOLD and "their tokenizers differ" in row_text(row, {})
    assert row.code is RowCode.QUALITY
