"""Shares of the bandwidth limit, held against the numbers that the published documents give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.physics.experts import read_experts
from analysis.physics.roofline import limit_tps, share_of_limit, step_bytes
from reference.gpus import find_gpu, load_gpus
from tests.analysis.physics.models import DEEPSEEK_V3, GEMMA_4_31B, GIB, QWEN3_30B_A3B

GB10, PRO_6000 = "NVIDIA GB10", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"


@pytest.mark.parametrize(
    ("gpu", "weights_gib", "tps", "share"),
    [
        (GB10, 31.49, 6.9, 0.85),
        (GB10, 58.9, 3.7, 0.86),
        (PRO_6000, 58.9, 24.1, 0.85),
        (PRO_6000, 31.0, 39.2, 0.73),
        (PRO_6000, 19.6, 64.3, 0.76),
        (PRO_6000, 18.5, 51.0, 0.57),
    ],
)
def test_the_shares_of_the_documents(gpu: str, weights_gib: float, tps: float, share: float) -> None:
    actual_gpu = find_gpu(gpu)
    assert actual_gpu
    limit = limit_tps(step_bytes(weights_gib * GIB), actual_gpu.bandwidth_gb_s * 1e9)
    assert round(share_of_limit(tps, limit), 2) == share


def test_speculation_raises_limit_less_draft_cost() -> None:
    plain = limit_tps(step_bytes(20e9), 1e12)
    drafted = limit_tps(step_bytes(20e9, draft_bytes=1e9, draft_tokens=4), 1e12, tokens_per_step=3.0)
    assert plain == 50.0 and drafted == pytest.approx(3 * 1e12 / 24e9)


@given(st.floats(1e9, 1e12), st.floats(0, 1e10), st.integers(1, 512))
def test_more_requests_raise_only_the_total_limit(w: float, kv: float, n: int) -> None:
    def limit(requests: int) -> float:
        return limit_tps(step_bytes(w, requests, kv), 1e12, requests)

    assert limit(n + 1) >= limit(n) * (1 - 1e-12)
    assert limit(n + 1) / (n + 1) <= limit(n) / n * (1 + 1e-12)


def test_a_mixture_reads_what_its_name_says() -> None:
    mixture = read_experts(QWEN3_30B_A3B)
    assert mixture
    total = mixture.expert_parameters + mixture.other_parameters
    assert total == pytest.approx(30.5e9, rel=0.01)
    assert mixture.active_share() * total == pytest.approx(3.3e9, rel=0.03)
    assert mixture.active_share(1) < mixture.active_share(8) < mixture.active_share(1e6) == pytest.approx(1.0)
    assert read_experts(GEMMA_4_31B) is None


def test_latent_mixture_has_671_and_37_billion() -> None:
    mixture = read_experts(
        DEEPSEEK_V3
        | {"n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048}
        | {"intermediate_size": 18432, "first_k_dense_replace": 3, "vocab_size": 129280, "qk_nope_head_dim": 128}
        | {"q_lora_rank": 1536}
    )
    assert mixture
    total = mixture.expert_parameters + mixture.other_parameters
    assert total == pytest.approx(671e9, rel=0.01) and mixture.active_share() * total == pytest.approx(37e9, rel=0.03)


def test_a_shape_that_is_not_told_is_unknown() -> None:
    assert read_experts({**QWEN3_30B_A3B, "vocab_size": None}) is None
    assert read_experts({**QWEN3_30B_A3B, "num_experts_per_tok": 300}) is None


def test_gpus_have_sources_and_match_driver_names() -> None:
    assert all(gpu.source and gpu.bandwidth_gb_s > 0 and gpu.memory_gb > 0 for gpu in load_gpus())
    fields = {
        "NVIDIA RTX PRO 6000 Blackwell Server Edition": 1597,
        "NVIDIA H200 NVL": 4800,
        "NVIDIA H100 80GB HBM3": 3350,
        "NVIDIA A100-SXM4-80GB": 2039,
    }
    assert {name: gpu.bandwidth_gb_s for name in fields if (gpu := find_gpu(name))} == fields
    assert find_gpu("NVIDIA Riva TNT2") is None
