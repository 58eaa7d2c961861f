"""Makes the demo's model files: a deep random target and a shallow draft that is the target's first layers.

The target's later layers change little, so the draft is often right: speculation can win here, as with a trained pair,
and it can lose too. The outcome is not built in.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from demo.vocabulary import CHAT_TEMPLATE, SPECIALS, Vocabulary, build_vocabulary
from machine.private_files import private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter

    Weights = dict[str, np.ndarray]

FORMAT_VERSION = 1  # raise it when the same shape must produce different files


@dataclass(frozen=True, slots=True)
class Shape:
    """Hyperparameters of the two models; equal shapes produce equal files."""

    layers: int = 14
    draft_layers: int = 1
    width: int = 384
    ff_width: int = 1024
    heads: int = 6
    context_tokens: int = 8192
    later_scale: float = 0.01  # weight of the layers that the draft does not have
    logit_std: float = 5.0  # higher: more confident in the next word
    seed: int = 7


DEMO = Shape()
TINY = Shape(layers=2, width=64, ff_width=128, heads=2)


class ModelFiles(NamedTuple):
    """GGUF files of the demo: the served model and its draft model."""

    target: Path
    draft: Path


def model_files(folder: Path, shape: Shape = DEMO) -> ModelFiles:
    """Return the paths of this shape's files in `folder`, whether they exist or not."""
    identity = json.dumps([FORMAT_VERSION, asdict(shape), build_vocabulary()])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
    return ModelFiles(folder / f"demo-target-{digest}.gguf", folder / f"demo-draft-{digest}.gguf")


def shape_of(path: Path) -> Shape | None:
    """Return the shape whose file would have this name, or None if it is not a demo file."""
    return next((shape for shape in (DEMO, TINY) if path in model_files(path.parent, shape)), None)


def make_model(folder: Path, shape: Shape = DEMO) -> ModelFiles:
    """Create both files unless they exist; safe when two processes do it at once.

    Raises OSError when the folder cannot be written, ModuleNotFoundError without gguf and numpy.
    """
    files = model_files(folder, shape)
    if all(path.exists() for path in files):
        return files
    private_folder(folder)
    vocabulary = build_vocabulary()
    weights = random_weights(shape, vocabulary)
    write_gguf(files.target, "Pitwall demo target", weights, shape, shape.layers, vocabulary)
    write_gguf(files.draft, "Pitwall demo draft", weights, shape, shape.draft_layers, vocabulary)
    return files


def random_weights(shape: Shape, vocabulary: Vocabulary) -> Weights:
    """Return all tensors of the target by GGUF name, float32, shape (output features, input features).

    Feature 0 is a constant that no layer writes to: the output head uses it to rule out everything but words.
    """
    import numpy as np

    rng = np.random.default_rng(shape.seed)

    def matrix(rows: int, columns: int, std: float) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * std).astype(np.float32)

    size = len(vocabulary.tokens)
    embedding = matrix(size, shape.width, 1.0)
    embedding[:, 0] = 4.0
    head = np.zeros((size, shape.width), np.float32)
    head[:, 0] = -50.0
    head[vocabulary.written_ids] = matrix(len(vocabulary.written_ids), shape.width, shape.logit_std / shape.width**0.5)
    head[vocabulary.written_ids, 0] = 0.0
    unit_norm = np.ones(shape.width, np.float32)
    weights = {"token_embd.weight": embedding, "output_norm.weight": unit_norm, "output.weight": head}
    for layer in range(shape.layers):
        scale = 1.0 if layer < shape.draft_layers else shape.later_scale
        weights |= {f"blk.{layer}.{name}": tensor for name, tensor in layer_weights(shape, scale, matrix).items()}
    return weights


def layer_weights(shape: Shape, scale: float, matrix: Callable[[int, int, float], np.ndarray]) -> Weights:
    """Return one layer's tensors; `scale` weighs its contribution to the residual stream; feature 0 is unchanged."""
    import numpy as np

    width, ff_width = shape.width, shape.ff_width
    inward = width**-0.5
    tensors = {f"attn_{part}.weight": matrix(width, width, inward) for part in ("q", "k", "v")}
    tensors |= {f"ffn_{part}.weight": matrix(ff_width, width, inward) for part in ("gate", "up")}
    tensors["attn_output.weight"] = matrix(width, width, scale * inward)
    tensors["ffn_down.weight"] = matrix(width, ff_width, scale * ff_width**-0.5)
    for outward in ("attn_output.weight", "ffn_down.weight"):
        tensors[outward][0] = 0.0
    return tensors | {f"{norm}_norm.weight": np.ones(width, np.float32) for norm in ("attn", "ffn")}


def write_gguf(
    path: Path,
    name: str,
    weights: Weights,
    shape: Shape,
    layers: int,
    vocabulary: Vocabulary,
    weight_type: GGMLQuantizationType | None = None,
) -> None:
    """Write the first `layers` layers as one GGUF file, atomically (renamed when complete).

    weight_type: of the matrices, Q8_0 by default; the norms stay at 32 bits.
    """
    from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, quantize

    weight_type = weight_type or GGMLQuantizationType.Q8_0
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    writer = GGUFWriter(partial, "llama")
    writer.add_name(name)
    writer.add_file_type(LlamaFileType[f"MOSTLY_{weight_type.name}"])
    describe_shape(writer, shape, layers)
    describe_vocabulary(writer, vocabulary)
    for tensor_name, tensor in weights.items():
        if not tensor_name.startswith("blk.") or int(tensor_name.split(".")[1]) < layers:
            is_matrix = tensor.ndim == 2
            data = quantize(tensor, weight_type) if is_matrix else tensor
            writer.add_tensor(tensor_name, data, raw_dtype=weight_type if is_matrix else None)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def describe_shape(writer: GGUFWriter, shape: Shape, layers: int) -> None:
    """Write the hyperparameters under the names of GGUF's llama architecture."""
    writer.add_block_count(layers)
    writer.add_context_length(shape.context_tokens)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.ff_width)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.width // shape.heads)


def describe_vocabulary(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    """Write the byte-level tokenizer, its special tokens and the chat template."""
    from gguf import TokenType

    size, specials = len(vocabulary.tokens), len(SPECIALS)
    start, end, _ = range(size - specials, size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([TokenType.NORMAL] * (size - specials) + [TokenType.CONTROL] * specials)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(start)
    writer.add_eos_token_id(end)
    writer.add_chat_template(CHAT_TEMPLATE)
