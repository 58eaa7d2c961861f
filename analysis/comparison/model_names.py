"""Model and quantization in a model name: 'Qwen3-32B-FP8' is Qwen3-32B in FP8."""

from __future__ import annotations

import re

# Endings that hubs and files use for a quantization; 'instruct', sizes and versions belong to the model.
QUANTIZATION = re.compile(
    r"(?<![a-z0-9])(?:(?:nv|mx)?fp(?:4|8|16)(?:[-_](?:dynamic|block|e4m3(?:fn)?|e5m2|kv|turbo|marlin))*|"
    r"bf16|f16|f32|awq|gptq|exl[23]|bnb|hqq|dwq|qat|int[2-8]|[2-8]-?bit|w\d+a\d+|ud|i1|"
    r"[it]?q\d(?:[-_](?:[0k]|[1-9]|xxs|xs|s|m|l|xl|nl|k[-_][sml]))*|"
    r"gguf|ggml|mlx|autoround|quantized|torchao)(?![a-z0-9])"
)
FILE_ENDING = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors|bin)$")
HUB_FOLDER = re.compile(r"^models--.*--(?=[^-])")  # 'models--Qwen--Qwen3-8B', the hub's cache
# File or folder names that do not identify the model; the parent folder does.
NAMELESS = re.compile(r"|model|weights|main|snapshots|[0-9a-f]{40}")


def base_name(name: str) -> str:
    """Return the model without owner, folder, file ending and quantization: 'qwen3-32b'."""
    return _without_quantization(_model_stem(name))


def quantization_in(name: str) -> tuple[str, ...]:
    """Return the quantization words in a name, in order; empty if it has none."""
    matches = (QUANTIZATION.findall(stem) for stem in (_stems(name)[0], _model_stem(name)))
    return tuple(next(filter(None, matches), ()))


def weights_name(name: str) -> str:
    """Return the weights as written, without owner, folder and file ending: 'Qwen3-32B-FP8', 'Qwen3-8B Q8_0'."""
    parts = _written_parts(name)
    positions = (at for at, part in enumerate(parts) if not NAMELESS.fullmatch(_without_quantization(part.lower())))
    position = next(positions, 0)
    formats = [part for part in parts[:position] if QUANTIZATION.search(part.lower())]
    return " ".join([parts[position], *formats[:1]])


def _model_stem(name: str) -> str:
    """Return the last path part that identifies the model."""
    stems = _stems(name)
    return next((stem for stem in stems if not NAMELESS.fullmatch(_without_quantization(stem))), stems[0])


def _without_quantization(text: str) -> str:
    return re.sub(r"[-_.:]{2,}", "-", QUANTIZATION.sub("", text)).strip("-_.:")


def _stems(name: str) -> list[str]:
    """Return the parts of a path or repository name in lower case, the last first, without file endings."""
    return _written_parts(name.lower())


def _written_parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return [HUB_FOLDER.sub("", FILE_ENDING.sub("", part)) for part in reversed(parts)] or [""]
