"""What model a name speaks of, and in which quantization: 'Qwen3-32B-FP8' is Qwen3-32B in FP8."""

from __future__ import annotations

import re

# The endings by which hubs and files name a quantization; 'instruct', sizes and versions belong to the model.
QUANTIZATION = re.compile(
    r"(?<![a-z0-9])(?:(?:nv|mx)?fp(?:4|8|16)(?:[-_](?:dynamic|block|e4m3(?:fn)?|e5m2|kv|turbo|marlin))*|"
    r"bf16|f16|f32|awq|gptq|exl[23]|bnb|hqq|dwq|qat|int[2-8]|[2-8]-?bit|w\d+a\d+|ud|i1|"
    r"[it]?q\d(?:[-_](?:[0k]|[1-9]|xxs|xs|s|m|l|xl|nl|k[-_][sml]))*|"
    r"gguf|ggml|mlx|autoround|quantized|torchao)(?![a-z0-9])"
)
PART = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors|bin)$")
HUB_FOLDER = re.compile(r"^models--.*--(?=[^-])")  # 'models--Qwen--Qwen3-8B', the hub's cache
# Names of a file or folder that say nothing of the model: the folder above does.
NAMELESS = re.compile(r"|model|weights|main|snapshots|[0-9a-f]{40}")


def base_name(name: str) -> str:
    """The model without owner, folder, file ending and quantization: 'qwen3-32b'."""
    return _without_quantization(_speaking(name))


def quantization_in(name: str) -> tuple[str, ...]:
    """The words of a quantization in a name, in order; none where it names none."""
    found = (QUANTIZATION.findall(part) for part in (_stems(name)[0], _speaking(name)))
    return tuple(next(filter(None, found), ()))


def _speaking(name: str) -> str:
    """The last part of a name that names the model."""
    stems = _stems(name)
    return next((stem for stem in stems if not NAMELESS.fullmatch(_without_quantization(stem))), stems[0])


def _without_quantization(text: str) -> str:
    return re.sub(r"[-_.:]{2,}", "-", QUANTIZATION.sub("", text)).strip("-_.:")


def _stems(name: str) -> list[str]:
    """The parts of a path or a repository's name, the last first, as far as they are words."""
    parts = [part for part in name.lower().split("/") if part not in ("", ".")]
    return [HUB_FOLDER.sub("", PART.sub("", part)) for part in reversed(parts)] or [""]
