"""What model a name speaks of, and in which quantization: 'Qwen3-32B-FP8' is Qwen3-32B in FP8."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

# The endings by which hubs and files tell a quantization; 'instruct', sizes and versions belong to the model.
QUANTIZATION = re.compile(
    r"(?<![a-z0-9])(?:(?:nv|mx)?fp(?:4|8|16)(?:[-_](?:dynamic|block|e4m3(?:fn)?|e5m2|kv))?|bf16|f16|f32|awq|gptq|exl2|"
    r"bnb|hqq|int[248]|[248]bit|4-?bit|8-?bit|w\d+a\d+|ud|i?q\d(?:[-_](?:[0k]|[1-9]|xxs|xs|s|m|l|xl|nl|k[-_][sml]))*|"
    r"gguf|mlx|autoround|turbo|marlin|quantized|torchao)(?![a-z0-9])"
)


def base_name(name: str) -> str:
    """The model without owner, folder, file ending and quantization: 'qwen3-32b'."""
    return _tidy(QUANTIZATION.sub("", _stem(name)))


def quantization_in(name: str) -> tuple[str, ...]:
    """The words of a quantization in a name, in order; none where it names none."""
    return tuple(found.group() for found in QUANTIZATION.finditer(_stem(name)))


def _stem(name: str) -> str:
    last = PurePosixPath(name.rstrip("/")).name.lower()
    return re.sub(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors|bin)$", "", last)


def _tidy(text: str) -> str:
    return re.sub(r"[-_.]{2,}", "-", text).strip("-_.")
