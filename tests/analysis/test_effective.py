"""What came of what was asked: matched by meaning, and a difference is one only where something definite was asked."""

from __future__ import annotations

import pytest

from analysis.effective import Row, Told, effective_rows


def test_asked_and_effective_stand_in_one_row() -> None:
    told = [Told("max_model_len", 4096, 3), Told("max_model_len", 2048, 11), Told("num_spec_tokens", 4, 19)]
    rows = effective_rows({"max_model_len": 8192, "speculative.num_tokens": 4, "port": 80}, "vllm", told)
    assert rows == [
        Row("max_model_len", 8192, 2048, 11, True),
        Row("speculative.num_tokens", 4, 4, 19, False),
        Row("port", 80, None, None, False),
    ]


def test_what_only_the_log_says_comes_after() -> None:
    rows = effective_rows({"model": "m"}, "vllm", [Told("kv_cache_tokens", 876006, 40), Told("ready", True, 50)])
    assert rows[1:] == [Row("kv_cache_tokens", None, 876006, 40, False)]


@pytest.mark.parametrize(("engine", "field"), [("sglang", "max_model_len"), ("llamacpp", "context_len")])
def test_a_slot_s_context_is_not_the_context_asked_for(engine: str, field: str) -> None:
    rows = effective_rows({"max_model_len": 8192}, engine, [Told("context_len", 4096, 9)])
    assert next(row for row in rows if row.effective).field == field


@pytest.mark.parametrize(
    ("asked", "effective", "differs"),
    [
        ("auto", "fp8", False),
        ("fp8", "fp8_e4m3", False),
        ("bfloat16", "torch.bfloat16", False),
        ("fp8", "auto", True),
        (4, 4, False),
        (8, 4, True),
        (None, "x", False),
    ],
)
def test_spellings_of_one_choice_do_not_differ(asked: object, effective: object, differs: bool) -> None:
    (row,) = effective_rows({"dtype": asked}, "vllm", [Told("dtype", effective, 1)])
    assert row.differs is differs
