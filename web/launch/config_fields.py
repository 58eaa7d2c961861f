"""The fields of a configuration in the groups people think in, each with the engine's own flag for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from domain import Config, JsonValue, Speculation
from engines import BY_NAME

Kind = Literal["text", "integer", "number", "choice", "switch", "lines", "variables", "flag"]
Value = str | int | float | bool | None
CONTAINERS = ("podman", "docker")
LAUNCHERS = ("process", *CONTAINERS, "script")


class Field(NamedTuple):
    """One thing that can be set: a Config field ('speculative.model' for a nested one), or a flag of the engine."""

    path: str
    title: str
    kind: Kind = "text"
    placeholder: str = ""


GROUPS: dict[str, tuple[Field, ...]] = {
    "Model and weights": (
        Field("model", "Model", placeholder="organisation/name, or a path"),
        Field("quantization", "Quantization"),
        Field("dtype", "Data type"),
    ),
    "KV cache and context": (
        Field("max_model_len", "Context, tokens", "integer"),
        Field("kv_cache_dtype", "KV cache type"),
        Field("gpu_memory_fraction", "Share of GPU memory, 0 to 1", "number"),
        Field("prefix_caching", "Prefix caching", "switch"),
    ),
    "Speculation": (
        Field("speculative.method", "Method"),
        Field("speculative.model", "Draft model"),
        Field("speculative.num_tokens", "Draft tokens", "integer"),
    ),
    "Batching": (
        Field("max_num_seqs", "Most sequences at once", "integer"),
        Field("max_num_batched_tokens", "Most tokens a step", "integer"),
        Field("chunked_prefill", "Chunked prefill", "switch"),
        Field("enforce_eager", "Eager: no CUDA graphs", "switch"),
    ),
    "Parallelism": (
        Field("tensor_parallel", "Tensor parallel", "integer"),
        Field("pipeline_parallel", "Pipeline parallel", "integer"),
        Field("data_parallel", "Data parallel", "integer"),
        Field("gpus", "GPUs", placeholder="all, or 0,1"),
    ),
    "Sampling and output": (
        Field("tool_call_parser", "Tool call parser"),
        Field("reasoning_parser", "Reasoning parser"),
    ),
    "Container and address": (
        Field("launcher", "Run as", "choice"),
        Field("image", "Image"),
        Field("host", "Listens on"),
        Field("port", "Port", "integer"),
        Field("served_model_name", "Served model name"),
        Field("volumes", "Volumes, one a line", "lines", "/mnt/models:/models:ro"),
    ),
    "Environment": (Field("env", "Variables, one a line", "variables", "CUDA_VISIBLE_DEVICES=0"),),
    "Other flags": (Field("unknown_flags", "Kept as written, one a line", "lines"),),
}
SAMPLES: dict[Kind, Value] = {"text": "x", "integer": 1, "number": 0.5, "switch": True}
RUNTIME_FLAGS = {"gpus": "--gpus", "volumes": "-v", "env": "-e", "port": "-p"}
FOR_CONTAINERS = ("image", "volumes", "gpus")


def groups_of(config: Config) -> dict[str, list[Field]]:
    """The groups for this configuration's engine: what its command cannot say is left out."""
    engine = BY_NAME.get(config.engine)
    found = {title: [field for field in fields if _is_offered(field, config)] for title, fields in GROUPS.items()}
    if engine:
        found["Sampling and output"] += [Field(flag, flag, "flag") for flag in engine.sampling_flags]
    return {title: fields for title, fields in found.items() if fields}


def _is_offered(field: Field, config: Config) -> bool:
    if value_of(config, field) not in (None, "") or field.kind == "variables":
        return True
    if config.engine not in BY_NAME:
        return False
    if field.path in FOR_CONTAINERS:
        return config.launcher in CONTAINERS
    return field.kind in ("choice", "lines") or flag_of(config.engine, field) is not None


def label_of(config: Config, field: Field) -> str:
    """Title and flag, as plain text, for it is read aloud too: 'KV cache type --kv-cache-dtype'."""
    flag = RUNTIME_FLAGS.get(field.path) if config.launcher in CONTAINERS else None
    flag = flag or flag_of(config.engine, field)
    return field.path if field.kind == "flag" else f"{field.title} {flag}" if flag else field.title


@lru_cache(maxsize=256)
def flag_of(engine: str, field: Field) -> str | None:
    """The flag that the engine's own command says this field with; None where it cannot say it."""
    commands = BY_NAME[engine].commands if engine in BY_NAME else None
    sample = SAMPLES.get(field.kind)
    if commands is None or sample is None:
        return None
    bare = Config(engine=engine)
    words = commands.write_command(_set(bare, field.path, sample))[len(commands.write_command(bare)) :]
    return next(iter(words), None) if words[:1] != ["x"] else "without a flag"


def value_of(config: Config, field: Field) -> Value:
    """What the configuration says, in the form in which a person edits it; None where it says nothing."""
    if field.kind == "flag":
        return _flag_value(config, field.path)
    outer, _, inner = field.path.partition(".")
    value: JsonValue = getattr(config, outer)
    if inner:
        value = getattr(value, inner) if value else None
    if field.kind == "lines":
        return "\n".join(text for text in value if not (field.path == "unknown_flags" and _has_own_field(config, text)))
    if field.kind == "variables":
        return "\n".join(f"{name}={text}" for name, text in value.items())
    return value  # type: ignore[no-any-return]


def with_value(config: Config, field: Field, value: Value | Mapping[str, str]) -> Config:
    """The configuration with this field said anew; an empty value is not stated any more."""
    if field.kind == "flag":
        return _with_flag(config, field.path, str(value or "").strip())
    if field.kind == "lines":
        lines = [line.strip() for line in str(value or "").splitlines() if line.strip()]
        elsewhere = config.unknown_flags if field.path == "unknown_flags" else []
        return _set(config, field.path, [*lines, *(text for text in elsewhere if _has_own_field(config, text))])
    if isinstance(value, str):
        value = value.strip() or None
    return _set(config, field.path, value)


def _set(config: Config, path: str, value: JsonValue) -> Config:
    outer, _, inner = path.partition(".")
    if inner:
        speculation = (config.speculative or Speculation()).model_copy(update={inner: value})
        value = speculation if speculation != Speculation() else None
    return config.model_copy(update={outer: value})


def _has_own_field(config: Config, text: str) -> bool:
    """Whether a kept flag is shown in a field of its own."""
    return _own_field(config, text) is not None


def _own_field(config: Config, text: str) -> str | None:
    """Which flag with a field of its own a kept one is, under any of its names."""
    engine = BY_NAME.get(config.engine)
    found = engine.sampling_flag(text.partition(" ")[0].partition("=")[0]) if engine else None
    return found if engine and found in engine.sampling_flags else None


def _flag_value(config: Config, flag: str) -> str | None:
    text = next((text for text in config.unknown_flags if _own_field(config, text) == flag), None)
    return None if text is None else text.partition(" ")[2] or text.partition("=")[2]


def _with_flag(config: Config, flag: str, value: str) -> Config:
    rest = [text for text in config.unknown_flags if _own_field(config, text) != flag]
    return config.model_copy(update={"unknown_flags": [*rest, f"{flag} {value}"] if value else rest})
