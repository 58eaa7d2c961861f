"""The fields of a configuration by topic, each with the engine's own flag for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from domain import Config, JsonValue, Speculation
from engines import BY_NAME

WidgetKind = Literal["text", "integer", "number", "choice", "switch", "lines", "variables", "flag"]
FieldValue = str | int | float | bool | None
CONTAINERS = ("podman", "docker")
LAUNCHERS = ("process", *CONTAINERS, "script")


class ConfigField(NamedTuple):
    """A setting: a Config field ('speculative.model' for a nested one), or a flag of the engine."""

    path: str
    title: str
    kind: WidgetKind = "text"
    placeholder: str = ""


GROUPS: dict[str, tuple[ConfigField, ...]] = {
    "Model and weights": (
        ConfigField("model", "Model", placeholder="organisation/name, or a path"),
        ConfigField("quantization", "Quantization"),
        ConfigField("dtype", "Data type"),
    ),
    "KV cache and context": (
        ConfigField("max_model_len", "Context, tokens", "integer"),
        ConfigField("kv_cache_dtype", "KV cache type"),
        ConfigField("gpu_memory_fraction", "Share of GPU memory, 0 to 1", "number"),
        ConfigField("prefix_caching", "Prefix caching", "switch"),
    ),
    "Speculation": (
        ConfigField("speculative.method", "Method"),
        ConfigField("speculative.model", "Draft model"),
        ConfigField("speculative.num_tokens", "Draft tokens", "integer"),
    ),
    "Batching": (
        ConfigField("max_num_seqs", "Max concurrent sequences", "integer"),
        ConfigField("max_num_batched_tokens", "Max tokens per step", "integer"),
        ConfigField("chunked_prefill", "Chunked prefill", "switch"),
        ConfigField("enforce_eager", "Eager: no CUDA graphs", "switch"),
    ),
    "Parallelism": (
        ConfigField("tensor_parallel", "Tensor parallel", "integer"),
        ConfigField("pipeline_parallel", "Pipeline parallel", "integer"),
        ConfigField("data_parallel", "Data parallel", "integer"),
        ConfigField("gpus", "GPUs", placeholder="all, or 0,1"),
    ),
    "Sampling and output": (
        ConfigField("tool_call_parser", "Tool call parser"),
        ConfigField("reasoning_parser", "Reasoning parser"),
    ),
    "Container and address": (
        ConfigField("launcher", "Run as", "choice"),
        ConfigField("image", "Image"),
        ConfigField("host", "Listens on"),
        ConfigField("port", "Port", "integer"),
        ConfigField("served_model_name", "Served model name"),
        ConfigField("volumes", "Volumes, one per line", "lines", "/mnt/models:/models:ro"),
    ),
    "Environment": (ConfigField("env", "Variables, one per line", "variables", "CUDA_VISIBLE_DEVICES=0"),),
    "Other flags": (ConfigField("unknown_flags", "Kept as written, one per line", "lines"),),
}
SAMPLES: dict[WidgetKind, FieldValue] = {"text": "x", "integer": 1, "number": 0.5, "switch": True}
RUNTIME_FLAGS = {"gpus": "--gpus", "volumes": "-v", "env": "-e", "port": "-p"}
POSITIONAL = "(positional)"  # in place of a flag
FOR_CONTAINERS = ("image", "volumes", "gpus")


def groups_of(config: Config) -> dict[str, list[ConfigField]]:
    """Return the groups for the configuration's engine, without settings that its command cannot express."""
    engine = BY_NAME.get(config.engine)
    offered = {title: [field for field in fields if _is_offered(field, config)] for title, fields in GROUPS.items()}
    if engine:
        offered["Sampling and output"] += [ConfigField(flag, flag, "flag") for flag in engine.sampling_flags]
    return {title: fields for title, fields in offered.items() if fields}


def _is_offered(field: ConfigField, config: Config) -> bool:
    if value_of(config, field) not in (None, "") or field.kind == "variables":
        return True
    if config.engine not in BY_NAME:
        return False
    if field.path in FOR_CONTAINERS:
        return config.launcher in CONTAINERS
    return field.kind in ("choice", "lines") or flag_of(config.engine, field) is not None


def label_of(config: Config, field: ConfigField) -> str:
    """Return title and flag as plain text, since screen readers read it: 'KV cache type --kv-cache-dtype'."""
    flag = RUNTIME_FLAGS.get(field.path) if config.launcher in CONTAINERS else None
    flag = flag or flag_of(config.engine, field)
    return field.path if field.kind == "flag" else f"{field.title} {flag}" if flag else field.title


@lru_cache(maxsize=256)
def flag_of(engine: str, field: ConfigField) -> str | None:
    """Return the engine's flag for this field; None if its command cannot express it."""
    commands = BY_NAME[engine].commands if engine in BY_NAME else None
    sample = SAMPLES.get(field.kind)
    if commands is None or sample is None:
        return None
    bare = Config(engine=engine)
    arguments = commands.write_command(_set(bare, field.path, sample))[len(commands.write_command(bare)) :]
    return next(iter(arguments), None) if arguments[:1] != ["x"] else POSITIONAL


def value_of(config: Config, field: ConfigField) -> FieldValue:
    """Return the field's value in the form in which a person edits it; None if not stated."""
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


def with_value(config: Config, field: ConfigField, value: FieldValue | Mapping[str, str]) -> Config:
    """Return the configuration with this field changed; an empty value removes it."""
    if field.kind == "flag":
        return _with_flag(config, field.path, str(value or "").strip())
    if field.kind == "lines":
        lines = [line.strip() for line in str(value or "").splitlines() if line.strip()]
        other_flags = config.unknown_flags if field.path == "unknown_flags" else []
        return _set(config, field.path, [*lines, *(text for text in other_flags if _has_own_field(config, text))])
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
    """Whether an unknown flag has a field of its own in the form."""
    return _own_field(config, text) is not None


def _own_field(config: Config, text: str) -> str | None:
    """Return the flag, by its main name, whose form field shows this unknown flag; None if there is none."""
    engine = BY_NAME.get(config.engine)
    flag = engine.sampling_flag(text.partition(" ")[0].partition("=")[0]) if engine else None
    return flag if engine and flag in engine.sampling_flags else None


def _flag_value(config: Config, flag: str) -> str | None:
    text = next((text for text in config.unknown_flags if _own_field(config, text) == flag), None)
    return None if text is None else text.partition(" ")[2] or text.partition("=")[2]


def _with_flag(config: Config, flag: str, value: str) -> Config:
    other_flags = [text for text in config.unknown_flags if _own_field(config, text) != flag]
    return config.model_copy(update={"unknown_flags": [*other_flags, f"{flag} {value}"] if value else other_flags})
