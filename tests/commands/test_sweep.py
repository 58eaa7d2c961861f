from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta

import pytest

from commands.explain import read_argv
from commands.sweep import Axis, estimate, read_values, sweep_configs
from commands.write import CommandError
from domain import Config, JsonValue, Run, RunState, WorkloadSpec

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DRAFTING = """--speculative-config '{"method":"mtp","num_speculative_tokens":1}'"""
VLLM = f"vllm serve m --port 8000 --trust-remote-code {DRAFTING}"


def config_of(command: str) -> Config:
    config = read_argv(shlex.split(command), {})
    assert config
    return config


@pytest.mark.parametrize(
    ("field", "text", "values"),
    [
        ("speculative.num_tokens", "0..3, 8", (0, 1, 2, 3, 8)),
        ("kv_cache_dtype", "auto, fp8, none", ("auto", "fp8", None)),
        ("gpu_memory_fraction", "0.8,0.9", (0.8, 0.9)),
        ("prefix_caching", "true, false", (True, False)),
        ("max_num_seqs", "4, 4, 8", (4, 8)),
    ],
)
def test_values_are_read_by_field_type(field: str, text: str, values: tuple[JsonValue, ...]) -> None:
    assert read_values(field, text) == values


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("max_num_seqs", "many", "many is not a value for max_num_seqs."),
        ("max_num_seqs", " , ", "There are no values for max_num_seqs."),
        ("max_num_seqs", "9..1", "9..1 is not a range"),
        ("max_num_seqs", "1..1000000", "is not a range from low to high with at most 64"),
        ("speculative.colour", "1", "There is no field speculative.colour."),
    ],
)
def test_what_is_no_value_is_told(field: str, text: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        read_values(field, text)


def test_a_range_of_endless_digits_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="is not a value for max_num_seqs"):
        read_values("max_num_seqs", "1.." + "9" * 5000)


def test_sweep_gives_every_combination_as_command() -> None:
    axes = [Axis("speculative.num_tokens", (0, 2, 3)), Axis("kv_cache_dtype", ("auto", "fp8"))]
    variants = sweep_configs(config_of(VLLM), axes)
    assert [variant.name for variant in variants][:3] == [
        "no speculation, kv_cache_dtype auto",
        "no speculation, kv_cache_dtype fp8",
        "num_tokens 2, kv_cache_dtype auto",
    ]
    assert len({variant.config.fingerprint for variant in variants}) == 6
    for variant in variants:
        read = config_of(shlex.join(variant.config.argv))
        assert "--trust-remote-code" in variant.config.argv and read.port == 8000
        drafting = f"num_tokens {read.speculative.num_tokens}" if read.speculative else "no speculation"
        assert variant.name == f"{drafting}, kv_cache_dtype {read.kv_cache_dtype}"
    assert "--speculative-config" not in variants[0].config.argv


@pytest.mark.parametrize(
    ("command", "axis", "words"),
    [
        ("vllm serve m", Axis("speculative.num_tokens", (2,)), "the configuration has no speculation"),
        ("llama-server -m a.gguf", Axis("tensor_parallel", (2,)), "tensor_parallel 2 cannot be expressed"),
        ("python -c 0", Axis("port", (2,)), "There is no command to write for engine 'other'"),
    ],
)
def test_what_a_command_cannot_say_is_refused(command: str, axis: Axis, words: str) -> None:
    base = read_argv(shlex.split(command), {}) or Config(argv=tuple(command.split()))
    with pytest.raises(CommandError, match=words):
        sweep_configs(base.model_copy(update={"argv": ()}) if base.engine == "other" else base, [axis])


def finished(engine: str, seconds: float, workload: str = "five", state: RunState = RunState.FINISHED) -> Run:
    return Run(
        id=f"{engine}{seconds}",
        name="r",
        color=0,
        state=state,
        config=Config(engine=engine),
        workload=WorkloadSpec(name=workload),
        machine_id="m",
        created_at=NOW,
        started_at=NOW,
        ended_at=NOW + timedelta(seconds=seconds),
    )


def test_estimate_states_its_evidence_or_is_none() -> None:
    runs = [finished("vllm", 10), finished("vllm", 20), finished("vllm", 60), finished("sglang", 500)]
    runs += [finished("vllm", 1, state=RunState.FAILED), finished("vllm", 1, workload="watch")]
    known_estimate = estimate(4, "five", runs, Config(engine="vllm", max_num_seqs=8))
    assert (
        known_estimate.seconds == 80
        and known_estimate.basis == "median of 3 finished runs of this workload of this engine and model"
    )
    repeated = estimate(2, "five", runs, Config(engine="vllm", port=9000))
    assert repeated.seconds == 40 and repeated.basis == "median of 3 finished runs of this workload and configuration"
    assert estimate(1, "five", runs[3:4], Config()).basis.endswith("1 finished run of this workload of any model")
    unknown = estimate(4, "ladder", runs, Config(engine="vllm"))
    assert unknown.seconds is None and unknown.basis == "no run of this workload has finished yet"


def test_a_switch_is_named_in_words() -> None:
    base = Config(engine="vllm", model="o/m", argv=("vllm", "serve", "o/m"))
    axes = [Axis("enforce_eager", (True, None))]
    assert [variant.name for variant in sweep_configs(base, axes)] == ["enforce_eager on", "enforce_eager unset"]
