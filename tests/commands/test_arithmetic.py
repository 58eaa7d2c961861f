"""A shell's arithmetic has the results of a real bash; what is not known stays unknown."""

from __future__ import annotations

import subprocess

import pytest

from commands.explain import explain
from commands.paste.arithmetic import compute

VALUES = {"A": "7", "B": "-2", "ZERO": "0", "PATTERN": "x*"}
EXPRESSIONS = ["A * 2", "$A+${B}", "( A + 1 ) / 3", "A / B", "A % B", "-A % 3", "A - B * 2", "0"]
UNKNOWN = [
    "A / ZERO",
    "MISSING + 1",
    "PATTERN * 2",
    "A ** 200",
    "A // 2",
    "010 + 1",
    "A +",
    "A < 2",
    "--A",
    "A - --A",
    "++A",
    "1_000",
    "0b11",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_result_is_that_of_bash(expression: str) -> None:
    script = f"A=7; B=-2; echo $(({expression}))"
    output = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert compute(f"$(({expression}))", VALUES) == output.strip()


@pytest.mark.parametrize("expression", UNKNOWN)
def test_what_is_not_known_has_no_result(expression: str) -> None:
    assert compute(f"$(({expression}))", VALUES) is None


def test_a_flag_whose_value_is_computed() -> None:
    explanation = explain(
        "LEN=${LEN:-4096}\nN=2\nMAX=$((LEN * N))\nvllm serve o/m --max-model-len $MAX --port $((8000 + R))\n"
    )
    assert explanation.config and (explanation.config.max_model_len, explanation.config.port) == (8192, None)
    assert "$((8000 + R))" in explanation.unresolved


def test_a_computed_value_depends_on_the_conditions_of_its_names() -> None:
    explanation = explain('N=2\nif [ "$BIG" ]; then N=4; fi\nvllm serve o/m --max-model-len $((4096 * N))\n')
    assert explanation.config and explanation.config.max_model_len == 8192
    assert any("4 if" in warning for warning in explanation.warnings)
