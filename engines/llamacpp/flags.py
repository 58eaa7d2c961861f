"""llama.cpp's command line: `llama-server -m FILE ...`, LLAMA_ARG_* variables, and the ik_llama.cpp fork's flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Config, JsonValue, Speculation
from engines.base import CommandReading
from engines.command_reading import Grammar, Key, ReadingDraft, read_integer
from engines.flag_table import Flag, FlagTable, Item

DEMO = ("-m", "demo", "serve")  # llama.cpp embedded, with the flags of llama-server
CACHE_TYPES = ("--cache-type-k", "--cache-type-v")
KEYS: dict[str, Key] = {
    "--model": Key("model"),
    "--hf-repo": Key("model"),
    "--model-url": Key("model"),
    "--docker-repo": Key("model"),
    "--alias": Key("served_model_name"),
    "--host": Key("host"),
    "--port": Key("port", "integer"),
    "--ctx-size": Key("max_model_len", "integer"),  # shared by all slots
    "--parallel": Key("max_num_seqs", "integer"),
    "--cache-prompt": Key("prefix_caching", "true"),
    "--spec-type": Key("speculative.method"),
    "--spec-draft-model": Key("speculative.model"),
    "--spec-draft-hf": Key("speculative.model"),
    "--spec-draft-n-max": Key("speculative.num_tokens", "integer"),
    "--draft-max": Key("speculative.num_tokens", "integer"),
}
SPECULATION = "--spec-type"
STAGE_LENGTH = "n_max"  # the most draft tokens of a stage
_STAGE = re.compile(r"(?P<method>[\w-]+):(?P<settings>\w+=[\w.-]+(?:,\w+=[\w.-]+)*)")  # of the ik_llama.cpp fork
OLD_VARIABLES = {"LLAMA_ARG_MODEL_DRAFT": "--spec-draft-model", "LLAMA_ARG_HFD_REPO": "--spec-draft-hf"}
TABLE = FlagTable(
    Path(__file__).with_name("flag_names.txt"),
    spell=lambda name: name.replace("_", "-") if name.startswith("--") else name,
)
GRAMMAR = Grammar(TABLE, KEYS)


def read_command(argv: Sequence[str], env: Mapping[str, str]) -> CommandReading:
    """Read the words after `llama-server` as Config fields; a flag wins over its LLAMA_ARG_* variable."""
    draft = ReadingDraft()
    from_env = list(_items_of(env))
    items = [item for item in TABLE.split(argv) if item.words != ("serve",)]
    flags = [item for item in items if item.name]
    cache_type = common_cache_type([*from_env, *flags])
    GRAMMAR.read((item for item in from_env if not _cache_flag(item)), draft)
    draft.unknown_flags.clear()  # a variable stays in the environment
    GRAMMAR.read((item for item in flags if not (cache_type and _cache_flag(item))), draft)
    for item in flags:
        _read_stage(item, draft)
    draft.state("kv_cache_dtype", cache_type)
    draft.warnings += [f"{item.values[0]!r} is left over: no flag takes it" for item in items if not item.name]
    return draft.reading()


def _read_stage(item: Item, draft: ReadingDraft) -> None:
    """Read `--spec-type mtp:n_max=16,p_min=0.75`: a method with its settings."""
    stage = _STAGE.fullmatch(item.values[0]) if item.values and item.flag and SPECULATION in item.flag.names else None
    if stage is None:
        return
    options: dict[str, JsonValue] = dict(pair.split("=") for pair in stage["settings"].split(","))
    length = read_integer(str(options.get(STAGE_LENGTH)))
    if length is not None:
        del options[STAGE_LENGTH]
        draft.state("speculative.num_tokens", length)
    draft.state("speculative.method", stage["method"])
    draft.state("speculative.options", options or None)


def _stage_words(speculation: Speculation) -> list[str]:
    """The words of a method with its settings."""
    settings = {STAGE_LENGTH: speculation.num_tokens, **speculation.options}
    pairs = [f"{name}={value}" for name, value in settings.items() if value is not None]
    return [SPECULATION, f"{speculation.method}:{','.join(pairs)}"]


def _items_of(env: Mapping[str, str]) -> list[Item]:
    flags = {flag.env: flag for flag in TABLE.by_name.values() if flag.env}
    flags |= {variable: TABLE.by_name[name] for variable, name in OLD_VARIABLES.items()}
    return [Item(name, (), (value,), flags[name]) for name, value in env.items() if _is_stated(flags.get(name))]


def _is_stated(flag: Flag | None) -> bool:
    return flag is not None and any(name in KEYS or name in CACHE_TYPES for name in flag.names)


def _cache_flag(item: Item) -> str | None:
    names = item.flag.names if item.flag else ()
    return next((name for name in CACHE_TYPES if name in names), None)


def common_cache_type(items: Sequence[Item]) -> str | None:
    """Return the KV cache's type if K and V have the same one; None if they differ or one is not stated."""
    types_by_flag = {flag: item.values[0] for item in items if (flag := _cache_flag(item)) and item.values}
    types = set(types_by_flag.values())
    return types.pop() if len(types_by_flag) == len(CACHE_TYPES) and len(types) == 1 else None


def write_command(config: Config) -> list[str]:
    """Return `llama-server -m FILE ...`, or the demo's module form if python is the executable.

    A repository or a URL gets its own flag.
    """
    words = [config.executable or "llama-server"]
    if Path(words[0]).name.startswith("python"):
        words += DEMO
    if config.model:
        words += [model_flag(config.model, "--model", "--hf-repo"), config.model]
    if config.speculative and config.speculative.model:
        drafter = config.speculative.model
        words += [model_flag(drafter, "--spec-draft-model", "--spec-draft-hf"), drafter]
    leave_out = ["model", "speculative.model"]
    if config.speculative and config.speculative.options:
        words += _stage_words(config.speculative)
        leave_out += ["speculative.method", "speculative.num_tokens"]
    words += GRAMMAR.write(config, leave_out)
    if config.kv_cache_dtype:
        words += [word for flag in CACHE_TYPES for word in (flag, config.kv_cache_dtype)]
    return words


def model_flag(model: str, file_flag: str, repository_flag: str) -> str:
    """Return the flag for this model: 'org/name[:quant]' is a Hugging Face repository, anything else a file."""
    if model.startswith(("http://", "https://")) and file_flag == "--model":
        return "--model-url"
    is_repository = re.fullmatch(r"[\w.-]+/[\w.-]+(:[\w.-]+)?", model) and not model.endswith(".gguf")
    return repository_flag if is_repository else file_flag
