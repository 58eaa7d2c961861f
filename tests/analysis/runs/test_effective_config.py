"""Effective and requested settings, matched by meaning; they differ only where a definite value was requested."""

from __future__ import annotations

import pytest

from analysis.runs.effective_config import EffectiveRow, LogFact, effective_rows
from engines.base import StartupFact
from engines.vllm.log import log_parser


def test_asked_and_effective_stand_in_one_row() -> None:
    log_facts = [
        LogFact("max_model_len", 4096, 3),
        LogFact("max_model_len", 2048, 11),
        LogFact("num_spec_tokens", 4, 19),
    ]
    rows = effective_rows({"max_model_len": 8192, "speculative.num_tokens": 4, "port": 80}, "vllm", log_facts)
    assert rows == [
        EffectiveRow("max_model_len", 8192, 2048, 11, True),
        EffectiveRow("speculative.num_tokens", 4, 4, 19, False),
        EffectiveRow("port", 80, None, None, False),
    ]


def test_what_only_the_log_says_comes_after() -> None:
    rows = effective_rows({"model": "m"}, "vllm", [LogFact("kv_cache_tokens", 876006, 40), LogFact("ready", True, 50)])
    assert rows[1:] == [EffectiveRow("kv_cache_tokens", None, 876006, 40, False)]


@pytest.mark.parametrize(("engine", "field"), [("sglang", "max_model_len"), ("llamacpp", "context_len")])
def test_slot_context_is_not_requested_context(engine: str, field: str) -> None:
    rows = effective_rows({"max_model_len": 8192}, engine, [LogFact("context_len", 4096, 9)])
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
        (4, 48, True),
        (1, 16, True),
        (8192, 81920, True),
        ("0.90", 0.9, False),
        ("fp8_e4m3", "float8_e4m3fn", False),
        ("fp8", "torch.float8_e4m3fn", False),
        ("fp8", "fp8_e5m2", True),
        ("half", "torch.float16", False),
        ("bfloat16", "float16", True),
        (True, "True", False),
    ],
)
def test_spellings_of_one_choice_do_not_differ(asked: object, effective: object, differs: bool) -> None:
    (row,) = effective_rows({"dtype": asked}, "vllm", [LogFact("dtype", effective, 1)])
    assert row.differs is differs


@pytest.mark.parametrize(
    ("field", "asked", "effective", "differs"),
    [
        ("speculative.method", "eagle", "eagle3", True),
        ("speculative.method", "qwen3_next_mtp", "mtp", False),
        ("speculative.method", "NEXTN", "EAGLE", False),
        ("speculative.method", "ngram", "mtp", True),
        ("model", "Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base", True),
        ("quantization", "awq", "awq_marlin", False),
        ("quantization", "awq_marlin", "awq", True),
    ],
)
def test_the_beginning_of_a_word_is_another_word(field: str, asked: str, effective: str, differs: bool) -> None:
    (row,) = effective_rows({field: asked}, "vllm", [LogFact(field, effective, 1)])
    assert row.differs is differs


SWA, FULL = {"tokens": 139515, "role": "target swa"}, {"tokens": 69757, "role": "target full"}


def test_of_several_kv_pools_all_are_shown() -> None:
    (row,) = effective_rows({}, "sglang", [LogFact("kv_pools", SWA, 7), LogFact("kv_pools", FULL, 8)])
    assert (row.effective, row.line) == ([SWA, FULL], 8)


def test_pool_is_shown_once_and_only_if_current() -> None:
    old = [LogFact("kv_pools", {"tokens": 1}, 1), LogFact("ready", True, 2)]
    told = [*old, LogFact("kv_pools", FULL, 7), LogFact("kv_pools", FULL, 8), LogFact("ready", True, 9)]
    row = next(row for row in effective_rows({}, "sglang", told) if row.field == "kv_pools")
    assert row.effective == [FULL]


def test_vllm_engine_of_several_omits_the_count() -> None:
    """Each engine of a data-parallel vLLM prints data_parallel_size=1 of itself."""
    line = b"INFO 01-01 21:15:20 [core.py:93] Initializing a V1 LLM engine (v0.14.0) with config: model='m', %s\n"
    facts = []
    for rank in (0, 1):
        parser = log_parser()
        feed = parser.feed(b"(EngineCore_DP%d pid=%d) " % (rank, rank) + line % b"data_parallel_size=1, ")
        facts += [LogFact(one.key, one.value, one.line) for one in feed if isinstance(one, StartupFact)]
    row = next(row for row in effective_rows({"data_parallel": 2}, "vllm", facts) if row.field == "data_parallel")
    assert row == EffectiveRow("data_parallel", 2, None, None, False)
    both = log_parser().feed(line % b"data_parallel_size=2, ")
    assert [one.value for one in both if isinstance(one, StartupFact) and one.key == "data_parallel"] == [2]
