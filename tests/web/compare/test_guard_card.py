"""The guard's list names each thing once, however many arms differ in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.guard import RowCode, RowStatus
from tests.analysis.comparison.hand_made import arm, load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.guard_card import guard_card
from web.compare.answer.guard_findings import FindingDetail, findings

COLORS = {"a": 0, "b": 1, "c": 2, "d": 3}


def set_to(name: str, **settings: Any) -> Arm:
    """An arm of one run with these settings."""
    return arm(run(name, load(streams(1)), served=replace(SERVED, settings=settings)))


def unknown_arm(name: str) -> Arm:
    """An arm of one imported result, of whose server nothing is known."""
    server = ServerSetup(None, f"unknown-{name}", is_configuration_known=False)
    return arm(RunFacts(name, name, server, kind="imported"))


ARMS = (
    set_to("a", chunks=1, limit=1),
    set_to("b", chunks=2, limit=2),
    set_to("c", chunks=3, limit=2),
    set_to("d", chunks=3, limit=2),
)
NAMES = {run_id: run_id for run_id in COLORS}


def test_shared_settings_are_one_row() -> None:
    (row,) = [finding for finding in findings(compare_arms(ARMS), NAMES) if finding.code is RowCode.SETTINGS]
    assert row.standing is RowStatus.COMPARED
    assert row.details == (
        FindingDetail("chunks: 1 → 2", ("b",)),
        FindingDetail("limit: 1 → 2", ("b", "c", "d")),
        FindingDetail("chunks: 1 → 3", ("c", "d")),
    )


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (None, "/models/a/draft.gguf", "not stated → draft.gguf"),
        ("/models/a/draft.gguf", "/models/a/larger.gguf", "draft.gguf → larger.gguf"),
        ("/models/a/draft.gguf", "/models/b/draft.gguf", "/models/a/draft.gguf → /models/b/draft.gguf"),
    ],
)
def test_paths_are_shortened_where_their_ends_differ(first: str | None, second: str, text: str) -> None:
    fields = {"speculative.model": first} if first else {}
    arms = [set_to("a", **fields), set_to("b", **{"speculative.model": second})]
    (row,) = [finding for finding in findings(compare_arms(arms), NAMES) if finding.code is RowCode.SETTINGS]
    assert row.details[0].text == f"speculative.model: {text}"


def test_card_marks_values_with_arm_colours() -> None:
    card = guard_card(compare_arms(ARMS), NAMES, COLORS)
    assert card.count("<b>Other settings</b>") == 1
    (match,) = re.findall(r"Other settings</b><ul>(.*?)</ul>", card)
    assert [item.count("pw-swatch") for item in match.split("</li>")] == [1, 3, 2, 0]


def test_single_arm_needs_no_marks_or_nested_list() -> None:
    card = guard_card(compare_arms(ARMS[:2]), NAMES, COLORS)
    assert "<b>Other settings</b> chunks: 1 → 2; limit: 1 → 2</li>" in card and "pw-swatch" not in card


def test_unknown_rows_beside_a_refusal_are_folded() -> None:
    """Two imported results: some 25 rows are not known, and two of them say why there is no ranking."""
    refused = compare_arms([unknown_arm("a"), unknown_arm("b")])
    card = guard_card(refused, NAMES, COLORS)
    shown, folded = card.split("<details>", 1)
    assert not any(answer.is_ranked for answer in refused)
    assert "not comparable" in shown and shown.count("not known</span>") == 1
    assert "<b>Same answers</b>" in shown, "it may say what was measured"
    count = int(re.findall(r"<summary>(\d+) more are not known</summary>", folded)[0])
    assert folded.count("not known</span>") == count > 4


def test_unknown_rows_of_a_ranking_are_shown() -> None:
    a_judgement: Any = object()
    ranked = [
        replace(answer, rows=tuple(row for row in answer.rows if row not in answer.refused), judgement=a_judgement)
        for answer in compare_arms([unknown_arm("a"), unknown_arm("b")])
    ]
    assert all(answer.is_ranked for answer in ranked)
    assert "more are not known" not in guard_card(ranked, NAMES, COLORS)
