"""Fidelity on real llama.cpp servers against the same quantity from full logits, which separate code computes.

A random model is served in f16, Q8_0, Q4_0 and Q2_K, and in f16 with a quantized KV cache; with a draft, and twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import httpx
import numpy as np
import pytest
from gguf import GGMLQuantizationType as WeightType

from analysis.loads.fidelity import Fidelity, FidelityAnswer, FidelityLoad, build_fidelity_loads, compare_fidelity
from demo.model import Shape, random_weights, write_gguf
from demo.vocabulary import build_vocabulary
from load_records import FidelityPosition
from tests.demo_engine import DemoServer, running_demo
from tests.known_truth.llama_in_numpy import logits_of, quantized, rounded_weights
from tests.ports import free_ports
from tests.workloads.test_runner import Job
from workloads.reference_text import MAX_TEXT_TOKENS
from workloads.requests.records import parse_line
from workloads.texts.reference_texts import shipped_texts

pytestmark = [pytest.mark.long, pytest.mark.engine, pytest.mark.timeout(900)]  # eight loads, on a busy machine too
SHAPE = Shape(layers=2, draft_layers=1, width=256, ff_width=512, heads=8, later_scale=0.5, context_tokens=4096)
PARAMS: dict[str, Any] = {"texts": 20, "depths": [512], "positions": 8, "greedy_tokens": 16}
KINDS = {  # weights and KV cache
    "f16": (WeightType.F16, "f16"),
    "Q8_0": (WeightType.Q8_0, "f16"),
    "Q4_0": (WeightType.Q4_0, "f16"),
    "Q2_K": (WeightType.Q2_K, "f16"),
    "KV q8_0": (WeightType.F16, "q8_0"),
    "KV q4_0": (WeightType.F16, "q4_0"),
}


class Bench:
    """Models and servers of one folder, and the fidelity load of each server start."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.vocabulary = folder, build_vocabulary()
        self.weights = random_weights(SHAPE, self.vocabulary)

    def model(self, weight_type: WeightType, layers: int = SHAPE.layers) -> Path:
        path = self.folder / f"{weight_type.name}-{layers}.gguf"
        if not path.exists():
            write_gguf(path, "truth", self.weights, SHAPE, layers, self.vocabulary, weight_type)
        return path

    @contextmanager
    def serving(self, weight_type: WeightType, kv_type: str, *flags: str) -> Iterator[DemoServer]:
        (port,) = free_ports(1)
        argv = ["-m", str(self.model(weight_type)), "-c", "2048", "-ctk", kv_type, "-ctv", kv_type, *flags]
        with running_demo(argv, port, self.folder / f"{port}.log") as server:
            yield server

    def load(self, name: str, weight_type: WeightType, kv_type: str, *flags: str) -> FidelityLoad:
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        with self.serving(weight_type, kv_type, *flags) as server:
            job = Job(folder, server.base_url, run_id=name, workload="fidelity", params=PARAMS)
            assert job.run() == (0, "")
        lines = map(parse_line, job.out.read_text().splitlines())
        (load,) = build_fidelity_loads(line for line in lines if isinstance(line, FidelityPosition))
        return load

    def token_ids(self) -> dict[str, list[int]]:
        """The ids of each text without messages, by name."""
        with self.serving(WeightType.F16, "f16") as server:
            return {
                text.name: httpx.post(
                    f"{server.base_url}/tokenize", json={"content": text.text, "add_special": False}
                ).json()["tokens"][:MAX_TEXT_TOKENS]
                for text in shipped_texts()[: PARAMS["texts"]]
                if not text.messages
            }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    patch = pytest.MonkeyPatch()
    patch.setattr(gguf, "quantize", quantized)  # gguf itself writes no Q2_K
    yield Bench(tmp_path_factory.mktemp("fidelity"))
    patch.undo()


@pytest.fixture(scope="module")
def loads(bench: Bench) -> Mapping[str, FidelityLoad]:
    second = {"f16 again": bench.load("f16 again", *KINDS["f16"])}
    draft = bench.model(WeightType.F16, 1)
    drafting = {"f16 with a draft": bench.load("f16 with a draft", *KINDS["f16"], "-md", str(draft))}
    return {name: bench.load(name, *kind) for name, kind in KINDS.items()} | second | drafting


def fidelity_to_f16(loads: Mapping[str, FidelityLoad], name: str) -> Fidelity:
    fidelity = compare_fidelity([loads["f16"], loads["f16 again"]], [loads[name]])
    assert isinstance(fidelity, Fidelity)
    print(name, fidelity.agreement, fidelity.loss, fidelity.divergence_nats.value, fidelity.answer)  # noqa: T201
    return fidelity


def test_agreement_falls_with_coarser_weights_and_kv_cache(loads: Mapping[str, FidelityLoad]) -> None:
    measured = {name: fidelity_to_f16(loads, name) for name in KINDS}
    assert measured["f16"].agreement.value == 1.0
    for names in (("Q8_0", "Q4_0", "Q2_K"), ("KV q8_0", "KV q4_0")):
        agreements = [measured[name].agreement.value for name in names]
        divergences = [measured[name].divergence_nats.value for name in names]
        assert agreements == sorted(agreements, reverse=True) and divergences == sorted(divergences)
    assert measured["Q2_K"].answer is FidelityAnswer.DIFFERS


def test_drafts_and_another_start_change_nothing(loads: Mapping[str, FidelityLoad]) -> None:
    for name in ("f16 again", "f16 with a draft"):
        fidelity = fidelity_to_f16(loads, name)
        assert fidelity.loss is not None and fidelity.answer is not FidelityAnswer.DIFFERS
        assert (fidelity.agreement.value, fidelity.loss.value, fidelity.divergence_nats.value) == (1.0, 0.0, 0.0)
        assert fidelity.unchanged_greedy is not None and fidelity.unchanged_greedy.value == 1.0


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q2_K", "KV q4_0"])
def test_agreement_is_that_of_full_logits(bench: Bench, loads: Mapping[str, FidelityLoad], name: str) -> None:
    token_ids, (weight_type, kv_type) = bench.token_ids(), KINDS[name]
    exact_weights, rough_weights = (rounded_weights(bench.weights, kind) for kind in (WeightType.F16, weight_type))
    plain = {key: p for key, p in loads[name].positions.items() if key.text_name in token_ids and p.logprobs}
    same = []
    divergence = []
    for text_name, ids in token_ids.items():
        cuts = [key.prefix_tokens for key in plain if key.text_name == text_name]
        exact, rough = (
            logits_of(ids, matrices, SHAPE, WeightType[kv.upper()])[np.array(cuts) - 1]
            for matrices, kv in ((exact_weights, "f16"), (rough_weights, kv_type))
        )
        same += list(exact.argmax(axis=1) == rough.argmax(axis=1))
        p, q = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True) for logits in (exact, rough))
        divergence += list((np.exp(p) * (p - q)).sum(axis=1))
    texts = set(token_ids)
    limited = [
        FidelityLoad(load.run_id, load.load_id, {k: p for k, p in load.positions.items() if k.text_name in texts})
        for load in (loads["f16"], loads["f16 again"], loads[name])
    ]
    fidelity = compare_fidelity(limited[:2], limited[2:])
    assert isinstance(fidelity, Fidelity)
    agreement = fidelity.agreement
    print(name, "truth", np.mean(same), np.mean(divergence), "measured", agreement, fidelity.divergence_nats)  # noqa: T201
    assert agreement.low is not None and agreement.high is not None
    assert agreement.low <= np.mean(same) <= agreement.high
    assert fidelity.divergence_nats.value == pytest.approx(np.mean(divergence), rel=0.5, abs=0.003)
