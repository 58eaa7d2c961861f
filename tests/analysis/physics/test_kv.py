"""Capacity of the KV cache: by the model's layers, and by each engine version's own way of printing it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.physics.attention import Attention, Layers, read_attention, shape_of
from analysis.physics.dtypes import bytes_per_number
from analysis.physics.experts import read_experts
from analysis.physics.kv_blocks import PrintedDefinition, block_pool
from analysis.physics.kv_bytes import layer_bytes, request_bytes, requests_that_fit, token_bytes
from analysis.physics.kv_hybrid import HybridPool
from reasons import Code, Reason
from tests.analysis.physics.models import DEEPSEEK_V3, GEMMA_4_31B, GIB, LLAMA_3_8B, QWEN3_30B_A3B

FP8, BF16 = 1.0, 2.0
BATCHED = 8192


def layers_of(config: dict[str, Any]) -> tuple[Layers, ...]:
    read = read_attention(config)
    assert isinstance(read, Attention)
    return read.layers


GEMMA = layers_of(GEMMA_4_31B)


def test_the_layers_of_gemma_4() -> None:
    assert (Layers(10, 4, 1024), Layers(50, 16, 512, window=1024)) == GEMMA


def test_gemma_4_block_is_1_25_mebibytes() -> None:
    pool = block_pool(GEMMA, FP8)
    assert pool.block_bytes == 1.25 * 1024**2 and len(pool.groups) == 6
    assert sorted({(g.block_tokens, g.window) for g in pool.groups}, key=str) == [(16, 1024), (32, None)]


def test_876006_tokens_from_0_20_2_on() -> None:
    pool = block_pool(GEMMA, FP8)
    assert pool.blocks_of_request(262144, BATCHED) == 11077
    assert pool.printed_tokens(PrintedDefinition.REQUESTS_TIMES_CONTEXT, 37016, 262144, BATCHED) == 876_006
    assert pool.printed_tokens(PrintedDefinition.BLOCKS_OVER_GROUPS, 37016, 262144, BATCHED) == 98_704


def test_kv_pool_of_120624_tokens_version_0_20_0() -> None:
    pool = block_pool(GEMMA, FP8)
    blocks = pool.blocks_in(55.22 * GIB)
    assert pool.printed_tokens(PrintedDefinition.BLOCKS_OVER_GROUPS, blocks, 32768, BATCHED) == 120_624
    assert f"{pool.requests(blocks, 32768, BATCHED):.2f}" == "11.57"


def test_kv_pool_of_60752_tokens_is_fp8() -> None:
    pool = block_pool(GEMMA, FP8)
    numbers = [
        b for b in range(22000, 24000) if pool.printed_tokens(PrintedDefinition.BLOCKS_OVER_GROUPS, b, 1, 1) == 60_752
    ]
    assert (numbers[0], numbers[-1]) == (22782, 22787)
    assert {f"{pool.requests(b, 32768, BATCHED):.2f}" for b in numbers} == {"5.83"}


def test_one_full_request_does_not_fit_there() -> None:
    assert HybridPool(139_515, 111_612).requests(262144, 1024) == pytest.approx(0.532, abs=0.001)


def test_plain_models_by_hand() -> None:
    assert token_bytes(layers_of(LLAMA_3_8B), BF16) == 32 * 8 * 128 * 2 * 2 == 131_072
    assert token_bytes(layers_of(DEEPSEEK_V3), BF16) == 61 * 576 * 2 == 70_272
    assert token_bytes(layers_of(QWEN3_30B_A3B), BF16) == 48 * 4 * 128 * 2 * 2
    one_head = {**LLAMA_3_8B, "num_key_value_heads": None, "multi_query": True}
    assert token_bytes(layers_of(one_head), BF16) == 131_072 / 8


def test_rank_keeps_one_head_and_whole_latent() -> None:
    llama, mla = layers_of(LLAMA_3_8B), layers_of(DEEPSEEK_V3)
    assert token_bytes(llama, BF16, 8) == token_bytes(llama, BF16)
    assert token_bytes(llama, BF16, 16) == 2 * token_bytes(llama, BF16)
    assert token_bytes(mla, BF16, 8) == 8 * token_bytes(mla, BF16)


def test_ways_in_which_layers_are_told() -> None:
    state = {**LLAMA_3_8B, "full_attention_interval": 4}
    read = read_attention(state)
    assert isinstance(read, Attention) and (read.layers[0].count, read.state_layers) == (8, 24)
    every_sixth = {**LLAMA_3_8B, "sliding_window": 512, "sliding_window_pattern": 6}
    assert [(layer.count, layer.window) for layer in layers_of(every_sixth)] == [(5, None), (27, 512)]
    all_slide = {**LLAMA_3_8B, "sliding_window": 4096}
    assert [(layer.count, layer.window) for layer in layers_of(all_slide)] == [(32, 4096)]
    off = {**all_slide, "use_sliding_window": False}
    assert [(layer.count, layer.window) for layer in layers_of(off)] == [(32, None)]
    first_full = {**all_slide, "use_sliding_window": True, "max_window_layers": 28}
    assert [(layer.count, layer.window) for layer in layers_of(first_full)] == [(28, None), (4, 4096)]
    letters = {**LLAMA_3_8B, "num_hidden_layers": 5, "hybrid_override_pattern": "M-M*-"}
    assert layers_of(letters)[0].count == 1
    shared = {**LLAMA_3_8B, "num_kv_shared_layers": 12}
    assert layers_of(shared)[0].count == 20


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model_type": "odd", "num_hidden_layers": "many"},
        {**LLAMA_3_8B, "layer_types": ["full_attention"]},
        {**LLAMA_3_8B, "layer_types": ["who knows"] * 32},
        {**LLAMA_3_8B, "mamba_d_state": 16},
        {**LLAMA_3_8B, "text_config": {"num_attention_heads": 0, "num_key_value_heads": 0}},
        {**LLAMA_3_8B, "layer_types": 7},
        {**LLAMA_3_8B, "num_hidden_layers": 10**12},
        {**LLAMA_3_8B, "num_key_value_heads": -8},
        {**LLAMA_3_8B, "head_dim": float("inf")},
        {**LLAMA_3_8B, "layer_types": ["mamba"] * 32},
    ],
)
def test_conflicting_value_is_unknown_with_reason(config: dict[str, Any]) -> None:
    read = read_attention(config)
    assert isinstance(read, Reason) and read.code is Code.ATTENTION_NOT_READ


@pytest.mark.parametrize(
    "config", [GEMMA_4_31B, LLAMA_3_8B, DEEPSEEK_V3, QWEN3_30B_A3B, {**LLAMA_3_8B, "mamba_d_state": 16}]
)
def test_kept_config_gives_the_same_result(config: dict[str, Any]) -> None:
    shape = shape_of({**config, "quantization_config": {"ignore": ["a"] * 1000}, "_name_or_path": "/secret"})
    assert read_attention(shape) == read_attention(config) and read_experts(shape) == read_experts(config)
    assert "quantization_config" not in shape and "_name_or_path" not in shape


def test_bytes_of_a_number() -> None:
    assert bytes_per_number("auto", "torch.bfloat16") == 2.0
    assert bytes_per_number("fp8_e4m3") == 1.0 and bytes_per_number("q8_0") == 1.0625
    assert bytes_per_number(None) is None and bytes_per_number("int3") is None


kinds = st.builds(
    Layers,
    st.integers(1, 80),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([64, 128, 256, 512, 1024]),
    st.one_of(st.none(), st.integers(64, 8192)),
)


@given(st.lists(kinds, min_size=1, max_size=2), st.integers(1, 300_000), st.integers(1, 300_000))
def test_a_longer_request_never_takes_less(layers: list[Layers], number: int, other: int) -> None:
    short, long = sorted((number, other))
    assert request_bytes(layers, FP8, short) <= request_bytes(layers, FP8, long)
    assert requests_that_fit(GIB, layers, FP8, short) >= requests_that_fit(GIB, layers, FP8, long)
    pool = block_pool(layers, FP8)
    assert pool.blocks_of_request(short, BATCHED) <= pool.blocks_of_request(long, BATCHED)


@given(st.lists(kinds, min_size=1, max_size=2), st.integers(1, 200_000))
def test_blocks_hold_what_a_request_keeps(layers: list[Layers], context: int) -> None:
    """Paging only adds: the blocks of a request are at least its bytes."""
    pool = block_pool(layers, BF16)
    total = sum(layer.count * layer_bytes(layer, BF16) * min(context, layer.window or context) for layer in layers)
    assert pool.blocks_of_request(context, BATCHED) * pool.block_bytes >= total
