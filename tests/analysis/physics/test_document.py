"""The worked numbers of docs/answers/physics.md are those that the functions give."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.physics.kv_blocks import PrintedDefinition, block_pool
from analysis.physics.kv_bytes import token_bytes
from analysis.physics.kv_hybrid import HybridPool
from analysis.physics.money import cost_per_million
from analysis.physics.roofline import limit_tps, share_of_limit, step_bytes
from analysis.physics.speculation import best_k, chance_tokens, predicted_break_even
from analysis.physics.startup import restart_tokens, startup_phases
from reference.gpus import find_gpu
from tests.analysis.physics.models import GIB
from tests.analysis.physics.test_kv import BATCHED, FP8, GEMMA

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "answers" / "physics.md").read_text()
POOL = block_pool(GEMMA, FP8)
BLOCKS = POOL.blocks_in(55.22 * GIB)
OLD, NEW = PrintedDefinition.BLOCKS_OVER_GROUPS, PrintedDefinition.REQUESTS_TIMES_CONTEXT


def share(gpu: str, gib: float, tps: float) -> str:
    actual_gpu = find_gpu(gpu)
    assert actual_gpu
    return f"{100 * share_of_limit(tps, limit_tps(step_bytes(gib * GIB), actual_gpu.bandwidth_gb_s * 1e9)):.0f} %"


@pytest.mark.parametrize(
    ("before", "worked"),
    [
        ("window of 1,024; 10 layers of 4 heads × 512): ", f"{token_bytes(GEMMA, FP8):,.0f}"),
        ("a request has ", f"{POOL.blocks_of_request(32768, BATCHED):,}"),
        ("**3,909**: ", f"{POOL.requests(BLOCKS, 32768, BATCHED):.2f}"),
        ("× smallest block | ", f"{POOL.printed_tokens(OLD, BLOCKS, 32768, BATCHED):,}"),
        ("blocks at 262,144: ", f"{POOL.printed_tokens(NEW, 37016, 262144, BATCHED):,}"),
        ("by the older way: ", f"{POOL.printed_tokens(OLD, 37016, 262144, BATCHED):,}"),
        ("at 262,144: ", f"{HybridPool(139515, 111612).requests(262144, 1024):.2f}"),
        ("31.49 GiB, 6.9 tok/s | ", share("GB10", 31.49, 6.9)),
        ("58.9 GiB, 24.1 tok/s | ", share("RTX PRO 6000", 58.9, 24.1)),
        ("31 GiB, 39.2 tok/s | ", share("RTX PRO 6000", 31, 39.2)),
        ("18.5 GiB, 51 tok/s | ", share("RTX PRO 6000", 18.5, 51)),
        ("0.8, 0.6, 0.5 give ", f"{best_k([0.8, 0.6, 0.5], 0.0).curve[-1]:.1f}"),
        ("At a = 0.7 and k = 5: ", f"{chance_tokens(0.7, 5):.2f}"),
        ("at 0.05 a pass: ", f"{predicted_break_even(4, 0.05):.2f}"),
        ("at a cost of 0.2: k = ", f"{best_k([0.9, 0.3, 0.1], 0.2).k}"),
        ("107.6 at 4.98 are ", f"{95.9 / 4.28:.1f}"),
        ("**22.4** and ", f"{107.6 / 4.98:.1f}"),
        ("0.40 a kWh cost ", f"{cost_per_million(100, 3.60, 1000, 0.40):.2f}"),
        ("compilation in it: ", f"{startup_phases(147, None, 8.96, None, 66.23, None, 108.24).seconds['other']:.1f} s"),
        ("571.22 tok/s are ", f"{restart_tokens(147, 571.22):,.0f}"),
    ],
)
def test_a_worked_number(before: str, worked: str) -> None:
    assert f"{before}**{worked}**" in DOCUMENT.replace("\n", " "), worked


def test_no_worked_number_is_left_untested() -> None:
    assert DOCUMENT.count("**") // 2 - 2 == 20, "two heads are bold as well"
