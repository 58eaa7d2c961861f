"""A model's identity by its weight files: headers, sizes and samples of real files, read within limits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter

from machine.weight_files import WeightReadLimits, WeightsUnreadError, identify_weights


def write_safetensors(path: Path, tensors: dict[str, tuple[str, int]], fill: int = 7) -> None:
    """Write a file of that format: tensors as name -> data type and size in bytes."""
    header, end = dict[str, object](), 0
    for name, (dtype, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [size], "data_offsets": [end, end + size]}
        end += size
    header_bytes = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(len(header_bytes).to_bytes(8, "little") + header_bytes + bytes([fill]) * end)


def model_folder(folder: Path, dtype: str = "BF16", tensor_bytes: int = 4000, fill: int = 7) -> Path:
    """Return a folder of two weight files with their index; config.json is the same in each."""
    folder.mkdir(parents=True)
    names = {"a.weight": "model-00001-of-00002.safetensors", "b.weight": "model-00002-of-00002.safetensors"}
    for tensor, file_name in names.items():
        write_safetensors(folder / file_name, {tensor: (dtype, tensor_bytes)}, fill)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    (folder / "config.json").write_text('{"num_hidden_layers": 2}')
    return folder


def write_gguf(path: Path, quantization: GGMLQuantizationType = GGMLQuantizationType.F32, fill: int = 1) -> Path:
    writer = GGUFWriter(path, "llama")
    writer.add_name("a model")
    writer.add_tensor("a", np.full(64 << 10, fill, np.uint8), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_copy_elsewhere_is_the_same_model(tmp_path: Path) -> None:
    first, copy = model_folder(tmp_path / "turbo"), model_folder(tmp_path / "elsewhere/another-name")
    identity = identify_weights(first)
    assert identity == identify_weights(copy)
    assert identity["files"] == 2 and identity["bytes"] == sum(
        path.stat().st_size for path in first.glob("*.safetensors")
    )


def test_equal_configs_of_unlike_weights_differ(tmp_path: Path) -> None:
    turbo = model_folder(tmp_path / "turbo", "U8", 1850)
    nvidia = model_folder(tmp_path / "nvidia", "BF16", 3100)
    assert (turbo / "config.json").read_bytes() == (nvidia / "config.json").read_bytes()
    first, second = identify_weights(turbo), identify_weights(nvidia)
    assert first["bytes"] != second["bytes"] and first["sha256_of_headers"] != second["sha256_of_headers"]


def test_a_fine_tune_differs_by_its_samples(tmp_path: Path) -> None:
    base, tuned = (identify_weights(model_folder(tmp_path / str(fill), fill=fill)) for fill in (7, 8))
    assert base["sha256_of_headers"] == tuned["sha256_of_headers"]
    assert base["sha256_of_samples"] != tuned["sha256_of_samples"]


def test_samples_reach_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"a": ("U8", 8 << 20)})
    before = identify_weights(path)
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    assert identify_weights(path)["sha256_of_samples"] != before["sha256_of_samples"]


def test_two_gguf_files_differ_by_header(tmp_path: Path) -> None:
    first = write_gguf(tmp_path / "a.gguf")
    assert identify_weights(first) == identify_weights(write_gguf(tmp_path / "renamed.gguf"))
    other_weights = identify_weights(write_gguf(tmp_path / "b.gguf", GGMLQuantizationType.I32))
    assert other_weights["bytes"] == identify_weights(first)["bytes"], "the same size in another format"
    assert other_weights["sha256_of_headers"] != identify_weights(first)["sha256_of_headers"]


def test_all_parts_of_a_split_gguf_count(tmp_path: Path) -> None:
    parts = [write_gguf(tmp_path / f"m[1]-0000{n}-of-00002.gguf", fill=n) for n in (1, 2)]
    assert identify_weights(parts[0])["files"] == 2
    parts[1].unlink()
    with pytest.raises(WeightsUnreadError, match=r"a part of its split file is missing"):
        identify_weights(parts[0])


def test_unread_weights_say_why(tmp_path: Path) -> None:
    model = model_folder(tmp_path / "m")
    for limits, why in (
        (WeightReadLimits(files=1), "more than 1 weight files"),
        (WeightReadLimits(content_bytes=100), "larger than 0 MiB"),
        (WeightReadLimits(seconds=-1), "longer than -1 s"),
    ):
        with pytest.raises(WeightsUnreadError, match=why):
            identify_weights(model, limits)
    (model / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(WeightsUnreadError, match="a weight file of its index is missing"):
        identify_weights(model)
    (model / "model-00001-of-00002.safetensors").write_bytes((1 << 40).to_bytes(8, "little") + b"{}")
    (model / "model.safetensors.index.json").write_text("[")
    with pytest.raises(WeightsUnreadError, match="no valid header"):
        identify_weights(model)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(WeightsUnreadError, match="no weight files"):
        identify_weights(empty)
