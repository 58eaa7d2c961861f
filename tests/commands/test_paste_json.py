"""JSON flags with a value that only the running script knows: that value alone is lost."""

from __future__ import annotations

import pytest

from commands.explain import explain

TABLE = 'declare -A K=([low]=6 [high]=2)\nN="${K[$POINT]:-3}"\n'


@pytest.mark.parametrize(
    ("script", "number"),
    [
        (TABLE, "$N"),
        ("", "$N"),
        ("", "${N}"),
        ("", "$((N + 1))"),
        ("", "$(nproc)"),
        ("", "<n>"),
        ("if a; then N=1; else N=2; fi\n", "$N"),
    ],
)
def test_an_unknown_number_loses_no_other_value(script: str, number: str) -> None:
    explanation = explain(
        f'{script}vllm serve o/m --port 80 --speculative-config "{{\\"method\\": \\"eagle3\\",'
        f' \\"num_speculative_tokens\\": {number}, \\"model\\": \\"o/d\\", \\"seed\\": [1, {number}]}}"'
    )
    assert explanation.config and explanation.config.speculative and explanation.config.env == {}
    speculative = explanation.config.speculative
    assert (speculative.method, speculative.model, speculative.num_tokens) == ("eagle3", "o/d", None)
    assert explanation.config.unknown_flags == [] and explanation.unresolved
    assert any("num_tokens is unknown" in text for text in explanation.warnings)
    assert not any("\0" in str(value) for value in explanation.as_json().values())


def test_a_known_number_between_quotes_is_read() -> None:
    config = explain(
        """N=3\nvllm serve m --speculative-config '{"method":"mtp","num_speculative_tokens":'"$N"'}'"""
    ).config
    assert config and config.speculative and config.speculative.num_tokens == 3
