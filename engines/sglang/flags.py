"""SGLang's command line (0.3 to 0.5.23): `python -m sglang.launch_server ...` and `sglang serve ...`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from domain import Config
from engines.base import CommandReading
from engines.command_reading import Grammar, Key, ReadingDraft, read_model_words
from engines.flag_settings import words_of_settings
from engines.flag_table import FlagTable

MODULE = "sglang.launch_server"
KEYS: dict[str, Key] = {
    "--model-path": Key("model"),
    "--served-model-name": Key("served_model_name"),
    "--host": Key("host"),
    "--port": Key("port", "integer"),
    "--quantization": Key("quantization"),
    "--dtype": Key("dtype"),
    "--kv-cache-dtype": Key("kv_cache_dtype"),
    "--context-length": Key("max_model_len", "integer"),
    "--tp-size": Key("tensor_parallel", "integer"),
    "--tp": Key("tensor_parallel", "integer"),
    "--pp-size": Key("pipeline_parallel", "integer"),
    "--pp": Key("pipeline_parallel", "integer"),
    "--dp-size": Key("data_parallel", "integer"),
    "--dp": Key("data_parallel", "integer"),
    "--mem-fraction-static": Key("gpu_memory_fraction", "number"),
    "--max-running-requests": Key("max_num_seqs", "integer"),
    "--tool-call-parser": Key("tool_call_parser"),
    "--reasoning-parser": Key("reasoning_parser"),
    "--disable-cuda-graph": Key("enforce_eager", "true"),
    "--disable-radix-cache": Key("prefix_caching", "false"),
    "--speculative-algorithm": Key("speculative.method"),
    "--speculative-draft-model-path": Key("speculative.model"),
    "--speculative-num-draft-tokens": Key("speculative.num_tokens", "integer"),  # verified tokens per step
}
TABLE = FlagTable(Path(__file__).with_name("flag_names.txt"), abbreviates=True, preferred=frozenset({*KEYS}))
GRAMMAR = Grammar(TABLE, KEYS, has_suffixes=True)
SETTINGS_FILE = "--config"


def read_command(argv: Sequence[str], env: Mapping[str, str]) -> CommandReading:
    """Read the words after `-m sglang.launch_server` as Config fields; environment variables state none."""
    draft = ReadingDraft()
    items = list(TABLE.split(argv))
    GRAMMAR.read((item for item in items if item.name), draft)
    read_model_words([item for item in items if not item.name], draft)
    return draft.reading()


def read_settings(settings: Mapping[str, Any]) -> CommandReading:
    """Read the settings of the file that `--config` names: its keys are flags."""
    return read_command(words_of_settings(settings, TABLE), {})


def write_command(config: Config) -> list[str]:
    """Return `python3 -m sglang.launch_server --model-path ...`, or `sglang serve ...` if that is the executable."""
    executable = config.executable or "python3"
    start = ["-m", MODULE] if Path(executable).name.startswith("python") else ["serve"]
    written_config = config if config.enforce_eager else config.model_copy(update={"enforce_eager": None})
    return [executable, *start, *GRAMMAR.write(written_config)]
