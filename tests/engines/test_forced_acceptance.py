"""Forced draft acceptance is read from each engine's command, environment and log."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from commands.explain import explain
from domain import Config, Speculation
from engines import BY_NAME
from engines.forced_acceptance import forced_sentence
from engines.parse import parse_file

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
VLLM = "rejection_sample_method synthetic, synthetic_acceptance_length 3.5"
SPECULATION = '{"method":"mtp","num_speculative_tokens":3,"rejection_sample_method":"synthetic"'


@pytest.mark.parametrize(
    ("command", "switch"),
    [
        (f"vllm serve m --speculative-config '{SPECULATION},\"synthetic_acceptance_length\":3.5}}'", VLLM),
        ("vllm serve m --speculative-config.rejection_sample_method synthetic", "rejection_sample_method synthetic"),
        ("SGLANG_SIMULATE_ACC_LEN=3.5 sglang serve --model-path m", "SGLANG_SIMULATE_ACC_LEN=3.5"),
        (
            "docker run -e SGLANG_SIMULATE_ACC_LEN=3 lmsysorg/sglang:v0.5 sglang serve --model-path m",
            "SGLANG_SIMULATE_ACC_LEN=3",
        ),
        (
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=2 trtllm-serve m",
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=2",
        ),
        ("llama-server -m a.gguf --spec-synth-len 2.5", "--spec-synth-len 2.5"),
        ("LLAMA_ARG_SPEC_SYNTH_LEN=2.5 llama-server -m a.gguf", "LLAMA_ARG_SPEC_SYNTH_LEN=2.5"),
    ],
)
def test_explain_warns_of_the_switch(command: str, switch: str) -> None:
    explanation = explain(command)
    assert explanation.config and forced_sentence(switch) in explanation.warnings
    assert forced_sentence(switch) in explanation.as_json()["warnings"]


@pytest.mark.parametrize(
    "command",
    [
        "SGLANG_SIMULATE_ACC_LEN=-1 sglang serve --model-path m",
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=0 trtllm-serve m",
        f"vllm serve m --speculative-config '{SPECULATION.replace('synthetic', 'standard')}}}'",
        "SGLANG_SIMULATE_ACC_LEN=3 vllm serve m",
        "llama-server -m a.gguf --spec-type draft-simple",
    ],
)
def test_what_forces_nothing(command: str) -> None:
    assert not any("forced" in warning for warning in explain(command).warnings)


@pytest.mark.parametrize("name", [name for name, engine in BY_NAME.items() if engine.commands])
def test_a_plain_config_forces_nothing(name: str) -> None:
    forced = BY_NAME[name].forced_acceptance
    assert forced is not None and forced(Config(engine=name, speculative=Speculation(method="mtp"))) is None


LOG_LINES = {
    "sglang": ("+ export SGLANG_SIMULATE_ACC_LEN=3.61\n", "SGLANG_SIMULATE_ACC_LEN=3.61"),
    "trtllm": (
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS: '1.78'\n",
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=1.78",
    ),
}


@pytest.mark.parametrize("engine", LOG_LINES)
def test_the_environment_in_a_log_tells(engine: str, read_log) -> None:
    text, switch = LOG_LINES[engine]
    log = read_log(engine, text)
    assert log.reading.startup["forced_acceptance"] == switch
    assert log.marks("warning") == [forced_sentence(switch)]


@pytest.mark.parametrize(
    ("path", "switch"),
    [
        ("vllm/0.33-by-hand-synthetic.log", VLLM),
        ("llamacpp/synthetic-draft.jsonl", "synthetic speculative acceptance"),
    ],
)
def test_parse_prints_the_switch(path: str, switch: str) -> None:
    printed = io.StringIO()
    parse_file(FIXTURES / path, list(BY_NAME.values()), printed)
    reading = json.loads(printed.getvalue())
    assert reading["startup"]["forced_acceptance"] == switch
    assert forced_sentence(switch) in [warning["text"] for warning in reading["warnings"]]


def test_text_of_a_client_forces_nothing(read_log) -> None:
    prompt = "speculative_config: {'rejection_sample_method': 'synthetic'}"
    text = f"(APIServer pid=1) INFO 11-20 18:36:10 [logger.py:42] Received request a: prompt: {prompt!r}\n"
    assert "forced_acceptance" not in read_log("vllm", text).reading.startup
