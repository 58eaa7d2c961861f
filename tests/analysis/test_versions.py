"""The same configuration across engine versions: which runs are that, and what their starts gave, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.evidence.objectives import parse_objective
from analysis.study.trend import is_same_but_for_version, starts_by_version
from tests.analysis.comparison.hand_made import faster, load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED, T0

OLD = replace(SERVED, engine_version="0.32.0", command=("/opt/old/bin/vllm", "serve", "org/model"))
NEW = replace(SERVED, engine_version="0.33.0", command=("/opt/new/bin/vllm", "serve", "org/model"))
DECODE = parse_objective("decode_tps")


def start(name: str, served: ServerSetup, times: float, day: int) -> RunFacts:
    return run(name, load(faster(streams(4), times)), served=served, began_at=T0 + timedelta(days=day))


def test_versions_use_own_starts_oldest_first() -> None:
    before, after = start("b", OLD, 1.0, 5), start("a", NEW, 1.2, 6)
    earlier = [start("older", replace(OLD, engine_version="0.31.0"), 0.5, 1), start("b0", OLD, 1.0, 2)]
    starts = starts_by_version([before, after, *earlier], [before, after], DECODE)
    assert [(start.version, len(start.values)) for start in starts] == [("0.31.0", 1), ("0.32.0", 2), ("0.33.0", 1)]
    oldest, middle, newest = (start.values[0] for start in starts)
    assert (middle / oldest, newest / middle) == (pytest.approx(2.0), pytest.approx(1.2))
    assert starts[1].first_at == T0 + timedelta(days=2)


@pytest.mark.parametrize(
    "other",
    [
        replace(OLD, command=(*OLD.command, "--max-num-seqs", "4")),
        replace(OLD, machine_id="m2"),
        replace(OLD, gpus=("H200",)),
        replace(OLD, command=()),
    ],
    ids=["another flag", "another machine", "another GPU", "no command is known"],
)
def test_differences_beyond_version_are_left_out(other: ServerSetup) -> None:
    mine, facts = start("b", OLD, 1.0, 5), start("x", other, 3.0, 1)
    assert not is_same_but_for_version(facts, mine) and not is_same_but_for_version(mine, facts)
    assert [len(start.values) for start in starts_by_version([mine, facts], [mine], DECODE)] == [1]


def test_the_image_of_a_container_is_its_version() -> None:
    def of(tag: str) -> ServerSetup:
        words = ("docker", "run", f"vllm/vllm-openai:{tag}", "--model", "org/model")
        return replace(SERVED, engine_version=None, image=f"vllm/vllm-openai:{tag}@sha256:{tag}", command=words)

    mine, facts = start("b", of("v2"), 1.0, 5), start("x", of("v1"), 1.0, 1)
    versions = [start.version for start in starts_by_version([mine, facts], [mine], DECODE)]
    assert versions == ["vllm/vllm-openai:v1@sha256:v1", "vllm/vllm-openai:v2@sha256:v2"]


def test_unknown_version_noted_other_load_omitted() -> None:
    mine = start("b", replace(OLD, engine_version=None), 1.0, 5)
    ladder = run("x", load(streams(4), workload="ladder"), served=OLD, began_at=T0)
    assert [start.version for start in starts_by_version([mine, ladder], [mine], DECODE)] == [None]
