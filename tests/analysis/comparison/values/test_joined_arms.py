"""Repeats that their owner declares: joined, moved, and what splits two runs."""

from __future__ import annotations

from dataclasses import replace

from analysis.comparison.arms import DeclaredRepeat, arms_of
from analysis.guard import RowCode, RowStatus, guard
from tests.analysis.comparison.hand_made import load, pair_of, request, run
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.guard_words import row_text
from web.compare.arms.split_words import split_text
from web.compare.url_params import parse_options

FOUR = replace(SERVED, settings={**SERVED.settings, "max_num_seqs": 4})
LOAD = load([request(0), request(1, 1.0)])
IMPORTED = [replace(SERVED, machine_id=f"unknown-{number}", command=(), gpus=None) for number in range(2)]


def test_declared_repeats_are_one_arm() -> None:
    """Results of one server imported as several files: nothing in them says that they are of one machine."""
    runs = [run(f"r{number}", LOAD, served=served) for number, served in enumerate(IMPORTED)]
    assert len(arms_of(runs)) == 2
    (arm,) = arms_of(runs, joined={"r1": DeclaredRepeat("r0", "one server")})
    assert [member.run_id for member in arm.runs] == ["r0", "r1"]


def test_a_run_moves_to_another_arm() -> None:
    runs = [run("a0", LOAD), run("a1", LOAD), run("b0", LOAD, served=FOUR)]
    moved = arms_of(runs, joined={"a1": DeclaredRepeat("b0", "its flag had no effect")})
    assert [[member.run_id for member in arm.runs] for arm in moved] == [["a0"], ["a1", "b0"]]
    unchanged = arms_of(runs, joined={"a1": DeclaredRepeat("nobody", "typo"), "nobody": DeclaredRepeat("a0", "typo")})
    assert [len(arm.runs) for arm in unchanged] == [2, 1]


def test_address_keeps_who_joined_whom() -> None:
    options, problems = parse_options({"join": ["a1:b0:its flag: none"], "apart": ["a2"]})
    assert not problems and options.apart == {"a2"}
    assert options.joined == {"a1": DeclaredRepeat("b0", "its flag: none")}


def test_split_is_said() -> None:
    first, second = arms_of([run("a0", LOAD), run("b0", LOAD, served=FOUR)])
    assert "max_num_seqs (not stated, 4)" in split_text(first, second)
    apart = arms_of([run("a0", LOAD), run("a1", LOAD)], separate_ids={"a1"})
    assert split_text(*apart) == "", "only a person separates them"


def test_unknown_machines_are_not_one() -> None:
    """They are refused in words, not by their ids, until their owner says that they may be compared."""
    runs = [[run(f"r{number}", LOAD, served=served)] for number, served in enumerate(IMPORTED)]
    (row,) = [row for row in guard(pair_of(*runs)) if row.code is RowCode.HARDWARE]
    assert row.status is RowStatus.MATTERS and row_text(row, {}) == "machines not known"
    (row,) = [row for row in guard(pair_of(*runs, declared={RowCode.HARDWARE})) if row.code is RowCode.HARDWARE]
    assert row.status is RowStatus.COMPARED
