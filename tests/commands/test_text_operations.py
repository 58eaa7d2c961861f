"""Text operations of a shell give what a real bash gives; forms that are not read stay unknown."""

from __future__ import annotations

import random
import subprocess

import pytest

from commands.explain import explain
from commands.paste.text_operations import apply_operation

OPERATORS = ("#", "##", "%", "%%", "/", "//")
# An anchor, an escape, a class as a regular expression has it, an extended pattern, and what is not known itself.
UNREAD = [
    ("/", "#org/x"),
    ("/", "%x/y"),
    ("#", r"\*"),
    ("#", "[^a]"),
    ("#", "@(a|b)"),
    ("#", "$UNKNOWN"),
    ("%", "`date`"),
]


def cases(count: int) -> list[tuple[str, str, str]]:
    """Return values, operators and operands, the same at every call."""
    generator, made = random.Random(7), []
    for _ in range(count):
        value = "".join(generator.choices("ab-./", k=generator.randint(0, 8)))
        operator = generator.choice(OPERATORS)
        letters = "ab-.*?" if operator.startswith("/") else "ab-./*?"
        pattern = "".join(generator.choices(letters, k=generator.randint(1, 4)))
        replacement = "/" + "".join(generator.choices("xyab", k=generator.randint(0, 2)))
        made.append((value, operator, pattern + replacement if operator.startswith("/") else pattern))
    return made


def test_a_result_is_that_of_bash() -> None:
    made_cases = cases(600)
    lines = [f"v='{value}'; printf '%s\\n' \"${{v{operator}{operand}}}\"" for value, operator, operand in made_cases]
    output = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout
    results = [apply_operation(operator, operand, value) for value, operator, operand in made_cases]
    assert list(zip(made_cases, results, strict=True)) == list(zip(made_cases, output.split("\n")[:-1], strict=True))


@pytest.mark.parametrize(("operator", "operand"), UNREAD)
def test_other_forms_have_no_result(operator: str, operand: str) -> None:
    assert apply_operation(operator, operand, "org/x-ab") is None


def test_a_cut_by_an_unknown_value_stays_unresolved() -> None:
    explanation = explain("MODEL=org/draft\nvllm serve ${MODEL#$PREFIX}\n")
    assert explanation.config and explanation.config.model != "org/draft"
    assert "${MODEL#$PREFIX}" in explanation.unresolved
