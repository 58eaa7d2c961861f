"""Sampling that a command sets for all requests, from the words of the command to the guard's row."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm
from analysis.guard import RowCode, RowStatus
from commands.explain import explain
from domain import Run, RunState
from reports.arms.served_config import served_by
from tests.analysis.comparison.hand_made import arm, faster, load, run, streams

NOW = datetime(2026, 11, 20, tzinfo=UTC)
VLLM, LLAMACPP, SGLANG = "vllm serve m", "llama-server -m m.gguf", "python -m sglang.launch_server --model-path m"


def served(command: str, speed: float) -> Arm:
    """Two starts of this command, 1 % apart."""
    config = explain(command).config
    assert config
    started = Run(id="r", name="r", color=0, state=RunState.FINISHED, config=config, machine_id="m1", created_at=NOW)
    requested_streams = streams(4)
    loads = [load(faster(requested_streams, speed * (1 + n / 100))) for n in range(2)]
    return arm(*(run(f"{speed}-{n}", load, served=served_by(started, (), ())) for n, load in enumerate(loads)))


@pytest.mark.parametrize(
    ("command", "words", "field"),
    [
        (VLLM, """--override-generation-config '{"temperature":0.7}'""", "sampling.temperature"),
        (VLLM, "--override-generation-config.temperature 0.7", "sampling.temperature"),
        (VLLM, "--generation-config vllm", "sampling.generation-config"),
        (LLAMACPP, "--temp 0.7", "sampling.temp"),
        (LLAMACPP, "--temperature 0.7", "sampling.temp"),
        (LLAMACPP, "--seed=3", "sampling.seed"),
        (LLAMACPP, "--mirostat 2", "sampling.mirostat"),
        (SGLANG, "--sampling-defaults openai", "sampling.sampling-defaults"),
    ],
)
def test_server_sampling_refused_unless_declared(command: str, words: str, field: str) -> None:
    sides = [served(command, 1.0), served(f"{command} {words}", 1.2)]
    (comparison,) = compare_arms(sides)
    row = next(row for row in comparison.rows if row.code is RowCode.SAMPLING)
    assert row.status is RowStatus.MATTERS and not comparison.is_ranked
    assert list(row.values["fields"]) == [field]
    (declared,) = compare_arms(sides, declared=[RowCode.SAMPLING])
    assert declared.is_ranked


def test_sampling_variable_counts_as_sampling() -> None:
    by_variable, by_flag = served(f"LLAMA_ARG_TEMPERATURE=0.7 {LLAMACPP}", 1.2), served(f"{LLAMACPP} --temp 0.7", 1.1)
    (comparison,) = compare_arms([served(LLAMACPP, 1.0), by_variable])
    row = next(row for row in comparison.rows if row.code is RowCode.SAMPLING)
    assert (row.status, list(row.values["fields"])) == (RowStatus.MATTERS, ["sampling.temp"])
    (alike,) = compare_arms([by_flag, by_variable])
    assert next(row.status for row in alike.rows if row.code is RowCode.SAMPLING) is RowStatus.SAME


@pytest.mark.parametrize(
    ("command", "text", "other"),
    [
        (
            VLLM,
            """--override-generation-config '{"temperature":0.7,"top_k":4}'""",
            """--override-generation-config='{"top_k": 4, "temperature": 0.7}'""",
        ),
        (
            VLLM,
            """--override-generation-config '{"temperature":0.7}'""",
            "--override-generation-config.temperature=0.7",
        ),
        (LLAMACPP, "--temp 0.7", "--temperature=0.7"),
    ],
)
def test_equivalent_sampling_spellings_are_equal(command: str, text: str, other: str) -> None:
    (comparison,) = compare_arms([served(f"{command} {text}", 1.0), served(f"{command} {other}", 1.2)])
    assert comparison.is_ranked and comparison.refused == []
    assert next(row.status for row in comparison.rows if row.code is RowCode.SAMPLING) is RowStatus.SAME
