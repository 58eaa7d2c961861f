"""Write a random Llama of about 1.9 billion parameters twice: with 16-bit weights, and with 8-bit ones.

`python -m scripts.gpu.make_gpu_models FOLDER`, 6 GB. All layers except the first hold the same numbers, so that they
are generated in seconds; a server still reads each layer for every token. The text is random words, as in the demo.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from gguf import GGMLQuantizationType

from demo.model import Shape, random_weights, write_gguf
from demo.vocabulary import build_vocabulary

SHAPE = Shape(layers=24, draft_layers=1, width=2560, ff_width=6912, heads=20, context_tokens=16384)
DRAWN = Shape(layers=2, draft_layers=1, width=2560, ff_width=6912, heads=20, context_tokens=16384)
NAME = "Pitwall random 2B"


class ModelPair(NamedTuple):
    f16: Path
    q8_0: Path


def model_pair(folder: Path) -> ModelPair:
    return ModelPair(folder / "pitwall-random-2B-F16.gguf", folder / "pitwall-random-2B-Q8_0.gguf")


def make(folder: Path) -> ModelPair:
    """Write the missing files."""
    pair = model_pair(folder)
    if all(path.exists() for path in pair):
        return pair
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = build_vocabulary()
    random_values = random_weights(DRAWN, vocabulary)
    weights = {name: tensor for name, tensor in random_values.items() if not name.startswith("blk.1.")}
    for layer in range(1, SHAPE.layers):
        weights |= {n.replace("blk.1.", f"blk.{layer}."): t for n, t in random_values.items() if n.startswith("blk.1.")}
    kinds = (GGMLQuantizationType.F16, GGMLQuantizationType.Q8_0)
    for path, kind in zip(pair, kinds, strict=True):
        write_gguf(path, NAME, weights, SHAPE, SHAPE.layers, vocabulary, kind)
    return pair


if __name__ == "__main__":
    for model_path in make(Path(sys.argv[1])):
        print(model_path)
