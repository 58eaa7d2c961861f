"""Duration of the fidelity load as offered: 40 texts at four depths up to 100k tokens, on a real llama.cpp server.

`python -m benchmarks.default_fidelity`. The model is random and tiny, so that a CPU reads prompts and decodes about as
fast as a GPU does with a usual model; the server's own counters say how fast, and how long it computed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.depth_on_llama import LoadLines
from demo.model import Shape, random_weights, write_gguf
from demo.vocabulary import build_vocabulary
from load_records import FIDELITY
from tests.demo_engine import running_demo
from tests.ports import free_ports
from workloads.forecast import forecast

CONTEXT_TOKENS = 106_496
SHAPE = Shape(layers=1, draft_layers=1, width=32, ff_width=64, heads=1, later_scale=0.5, context_tokens=CONTEXT_TOKENS)
SHOWN_STREAM_TPS = 50.0  # as the form assumes


def main() -> None:
    """Print the forecast, the duration, and what the server says of itself."""
    expected = forecast(FIDELITY, {}, SHOWN_STREAM_TPS)
    with tempfile.TemporaryDirectory() as name:
        folder, vocabulary = Path(name), build_vocabulary()
        model = folder / "model.gguf"
        write_gguf(model, "default", random_weights(SHAPE, vocabulary), SHAPE, SHAPE.layers, vocabulary)
        argv = ["-m", str(model), "-c", str(CONTEXT_TOKENS), "-t", "1", "--parallel", "1"]
        with running_demo(argv, free_ports(1)[0], folder / "server.log") as server:
            lines, counters = LoadLines(server, folder / "load", FIDELITY, {}), server.counters()
    prompt_s, decode_s = counters["prompt_seconds_total"], counters["tokens_predicted_seconds_total"]
    prefill_tps, decode_tps = counters["prompt_tokens_total"] / prompt_s, counters["tokens_predicted_total"] / decode_s
    failed = sum(row.error_kind is not None for row in lines.requests)
    print(f"forecast: {expected.requests:,} requests, {expected.computed_prompt_tokens:,} tokens", end=", ")
    print(f"{expected.seconds:.0f} s")
    print(f"measured: {len(lines.requests):,} requests, {failed} failed, {lines.computed_tokens:,} tokens", end=", ")
    print(f"{lines.seconds:.0f} s")
    print(f"the server: prompts {prompt_s:.0f} s ({prefill_tps:,.0f} tok/s)", end=", ")
    print(f"decode {decode_s:.0f} s ({decode_tps:,.0f} tok/s)")


if __name__ == "__main__":
    main()
