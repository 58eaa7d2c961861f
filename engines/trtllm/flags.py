"""TensorRT-LLM's command line: `trtllm-serve [serve] MODEL ...`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Config
from engines.base import CommandReading
from engines.command_reading import Grammar, Key, ReadingDraft, read_model_words
from engines.flag_table import FlagTable

MODULE = "tensorrt_llm.commands.serve"
SETTINGS_FILE = "--config"
KEYS: dict[str, Key] = {
    "--model": Key("model"),
    "--served_model_name": Key("served_model_name"),
    "--host": Key("host"),
    "--port": Key("port", "integer"),
    "--kv_cache_dtype": Key("kv_cache_dtype"),
    "--max_seq_len": Key("max_model_len", "integer"),
    "--tp_size": Key("tensor_parallel", "integer"),
    "--pp_size": Key("pipeline_parallel", "integer"),
    "--kv_cache_free_gpu_memory_fraction": Key("gpu_memory_fraction", "number"),  # of the memory free after the weights
    "--max_batch_size": Key("max_num_seqs", "integer"),
    "--max_num_tokens": Key("max_num_batched_tokens", "integer"),
    "--tool_parser": Key("tool_call_parser"),
    "--reasoning_parser": Key("reasoning_parser"),
    "--enable_chunked_prefill": Key("chunked_prefill", "true"),
}
TABLE = FlagTable(
    Path(__file__).with_name("flag_names.txt"),
    spell=lambda name: "--" + name[2:].replace("-", "_") if name.startswith("--") else name,
)
GRAMMAR = Grammar(TABLE, KEYS)


def read_command(argv: Sequence[str], env: Mapping[str, str]) -> CommandReading:
    """Read the words after `trtllm-serve` as Config fields; settings in its YAML file are read apart."""
    draft = ReadingDraft()
    items = list(TABLE.split(argv))
    GRAMMAR.read((item for item in items if item.name), draft)
    read_model_words([item for item in items if not item.name], draft)
    return draft.reading()


def write_command(config: Config) -> list[str]:
    """Return `trtllm-serve MODEL --flag value ...`, or the module form if python is the executable."""
    executable = config.executable or "trtllm-serve"
    module = ["-m", MODULE] if Path(executable).name.startswith("python") else []
    written_config = config if config.chunked_prefill else config.model_copy(update={"chunked_prefill": None})
    return [
        executable,
        *module,
        *([config.model] if config.model else []),
        *GRAMMAR.write(written_config, leave_out=("model",)),
    ]
