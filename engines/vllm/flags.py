"""vLLM's command line (0.4 to 0.33): `vllm serve MODEL ...` and `python -m vllm.entrypoints.openai.api_server ...`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from domain import Config, JsonValue
from engines.base import CommandReading
from engines.command_reading import Grammar, Key, ReadingDraft, read_integer, read_model_words
from engines.flag_settings import words_of_settings
from engines.flag_table import FlagTable, Item

MODULE = "vllm.entrypoints.openai.api_server"
SPECULATION = "--speculative-config"
MAX_JSON = 20_000  # characters that are searched for references
UNKNOWN = "\0"  # begins the text that stands for an unknown value
_BARE_REFERENCE = re.compile(
    r"(?P<before>[:\[,]\s*)"
    r"(?P<reference>\$\{[^\"\n]{1,200}?\}(?=\s*[,}\]])|\$\([^\"\n]{1,200}?\)+(?=\s*[,}\]])|\$\w{1,100}|<[^<>\"\n]{1,60}>|%\w{1,60}%)"
)
JSON_KEYS = {"method": "method", "model": "model", "num_speculative_tokens": "num_tokens"}
KEYS: dict[str, Key] = {
    "--model": Key("model"),
    "--served-model-name": Key("served_model_name"),
    "--host": Key("host"),
    "--port": Key("port", "integer"),
    "--quantization": Key("quantization"),
    "--dtype": Key("dtype"),
    "--kv-cache-dtype": Key("kv_cache_dtype"),
    "--max-model-len": Key("max_model_len", "integer"),
    "--tensor-parallel-size": Key("tensor_parallel", "integer"),
    "--pipeline-parallel-size": Key("pipeline_parallel", "integer"),
    "--data-parallel-size": Key("data_parallel", "integer"),
    "--gpu-memory-utilization": Key("gpu_memory_fraction", "number"),
    "--max-num-seqs": Key("max_num_seqs", "integer"),
    "--max-num-batched-tokens": Key("max_num_batched_tokens", "integer"),
    "--tool-call-parser": Key("tool_call_parser"),
    "--reasoning-parser": Key("reasoning_parser"),
    "--enable-prefix-caching": Key("prefix_caching", "true"),
    "--enable-chunked-prefill": Key("chunked_prefill", "true"),
    "--enforce-eager": Key("enforce_eager", "true"),
    "--spec-method": Key("speculative.method"),
    "--spec-model": Key("speculative.model"),
    "--speculative-model": Key("speculative.model"),  # until 0.8
    "--spec-tokens": Key("speculative.num_tokens", "integer"),
    "--num-speculative-tokens": Key("speculative.num_tokens", "integer"),  # until 0.8
}
TABLE = FlagTable(
    Path(__file__).with_name("flag_names.txt"),
    spell=lambda name: name.replace("_", "-") if name.startswith("--") else name,
    abbreviates=True,
    preferred=frozenset({*KEYS, SPECULATION}),
    glued_switch=re.compile(r"-O(\d|=|\.).*"),
)
GRAMMAR = Grammar(TABLE, KEYS, has_suffixes=True)
SETTINGS_FILE = "--config"


def read_command(argv: Sequence[str], env: Mapping[str, str]) -> CommandReading:
    """Read the words after `vllm` or `-m MODULE` as Config fields; environment variables state none."""
    draft = ReadingDraft()
    items = list(TABLE.split(argv))
    speculations = [item for item in items if is_speculation(item)]
    GRAMMAR.read((item for item in items if item.name and item not in speculations), draft)
    for item in speculations:
        read_speculation(item, draft)
    read_model_words([item for item in items if not item.name], draft)
    return draft.reading()


def is_speculation(item: Item) -> bool:
    """Whether the flag is `--speculative-config`, complete or for one of its keys."""
    return item.flag is not None and SPECULATION in item.flag.names


def read_speculation(item: Item, draft: ReadingDraft) -> None:
    """Read `--speculative-config JSON`, or one of its keys: `--speculative-config.method mtp`."""
    value = item.values[0] if item.values else ""
    _, dot, key = item.name.partition(".")
    if dot:
        config: JsonValue = {key.replace("-", "_"): _plain(value)}
    else:
        config = _read_json(value)
    if not isinstance(config, dict):
        draft.warnings.append(f"{item.name} is not a JSON object: {value!r}")
        draft.unknown_flags.append(item.text)
        return
    for name, path in JSON_KEYS.items():
        if name in config:
            draft.state(f"speculative.{path}", _read_key(path, config[name]))
    unknown_keys = [name for name, option in config.items() if str(option).startswith(UNKNOWN)]
    draft.warnings += [
        f"{item.name}: {JSON_KEYS.get(name, name)} is unknown: {str(config[name]).removeprefix(UNKNOWN)}"
        for name in unknown_keys
    ]
    options = {
        name: _without_marks(option)
        for name, option in config.items()
        if name not in (*JSON_KEYS, *unknown_keys) and option is not None
    }
    if options:
        known_options = draft.fields.get("speculative", {}).get("options", {})
        draft.state("speculative.options", known_options | options)


def _read_json(text: str) -> JsonValue:
    """Parse a JSON value; a reference in the place of a value loses that value alone. None if it is no JSON."""
    marked = text[:MAX_JSON]
    for attempt in dict.fromkeys((text, _BARE_REFERENCE.sub(_quoted_reference, marked), _unescaped(marked))):
        try:
            return json.loads(attempt)
        except (ValueError, RecursionError):
            continue
    return None


def _quoted_reference(match: re.Match[str]) -> str:
    return match["before"] + json.dumps(UNKNOWN + match["reference"])


def _without_marks(option: JsonValue) -> JsonValue:
    """An option whose inner unknown values stand as written."""
    return json.loads(json.dumps(option).replace(json.dumps(UNKNOWN)[1:-1], ""))


def _unescaped(text: str) -> str:
    """The JSON of which a process listing or a batch file shows the backslashes."""
    return text.replace('\\"', '"')


def _plain(value: str) -> JsonValue:
    """Return the value of a dotted key's flag, parsed as JSON if possible."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _read_key(path: str, value: JsonValue) -> JsonValue:
    if value is None:
        return None
    if str(value).startswith(UNKNOWN):
        return None
    if path != "num_tokens":
        return str(value)
    return read_integer(str(value))


def read_settings(settings: Mapping[str, Any]) -> CommandReading:
    """Read the settings of the file that `--config` names: its keys are flags."""
    return read_command(words_of_settings(settings, TABLE), {})


def write_command(config: Config) -> list[str]:
    """Return `vllm serve MODEL --flag value ...`, or the module form if python is the executable."""
    executable = config.executable or "vllm"
    flags = GRAMMAR.write(
        config, leave_out=("model", "speculative.method", "speculative.model", "speculative.num_tokens")
    )
    if config.speculative:
        fields = config.speculative.model_dump(exclude_none=True)
        json_config = {name: fields[path] for name, path in JSON_KEYS.items() if path in fields} | fields["options"]
        flags += [SPECULATION, json.dumps(json_config, separators=(",", ":"))] if json_config else []
    if Path(executable).name.startswith("python"):
        return [executable, "-m", MODULE, *(["--model", config.model] if config.model else []), *flags]
    return [executable, "serve", *([config.model] if config.model else []), *flags]
