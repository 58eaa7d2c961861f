"""Reads the settings on which all commands of a text agree, if its results are of the server that they start."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from collectors.imports.results.prose.quantizations import is_example
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_settings import names_other_engine
from commands.explain import explain
from domain import Config, JsonValue
from engines import BY_NAME, ENGINES

MAX_TEXT_CHARS, MAX_COMMAND_CHARS = 400_000, 8_000
MOST_COMMANDS, MOST_LINES = 8, 60
_SERVERS = "|".join(engine.invocation.text_pattern for engine in ENGINES if engine.invocation)
_START = re.compile(
    rf"(?<![\w-])(?:(?:docker|podman|nerdctl)\s+(?:container\s+)?run\s|(?:{_SERVERS})['\"]?\s+[^\s\[`])"
)
_GOES_ON = re.compile(r"[\\^]\s*$")
_FLAG = re.compile(r"\s*--?[A-Za-z]")
_OPEN_VALUE = re.compile(r"[<>$\[{]")  # to be replaced by the reader
_OF_CACHE = re.compile(r"\bkv\b|\bcache\b", re.IGNORECASE)
_DTYPE = r"(?:fp8(?:_e[45]m[23])?|(?:q[458]_[01k])|bf16|bfloat16|fp?16|float16|int[48]|nvfp4|turbo\w{1,6})"
_KV_DTYPE = re.compile(
    rf"\b(?P<first>{_DTYPE})[ -](?:quantized )?kv\b"
    rf"|\bkv(?:[ _-]?cache)?(?:[ _-](?:d?type|quant\w*|precision|in|at|is))?[\s=:|`*\"']{{1,6}}(?P<last>{_DTYPE})\b",
    re.IGNORECASE,
)


class ShownCommand(NamedTuple):
    """A command of a text that starts a server: its line, from 1, and what it states."""

    line: int
    settings: dict[str, JsonValue]


def settings_of_commands(
    text: str, sections: Sections, lines_of_results: Collection[int], names_of_results: Collection[str]
) -> dict[str, JsonValue]:
    """Return the engine, the type of its KV cache and the parallelism that all commands of a text state alike.

    Nothing of a command in the section of some results alone, and nothing that other words of the text or the name of
    a result contradict: another engine, another type of the cache.
    """
    text = text[:MAX_TEXT_CHARS]
    commands = list(islice(_commands(text), MOST_COMMANDS))
    if not commands or not _are_of_all(commands, sections, lines_of_results):
        return {}
    shared = commands[0].settings.items()
    settings = {key: value for key, value in shared if all(other.settings.get(key) == value for other in commands)}
    engine = BY_NAME.get(str(settings.get("engine")))
    if engine is None or any(names_other_engine(words, engine.title) for words in (text, *names_of_results)):
        return {}
    if any(map(_OF_CACHE.search, names_of_results)) or _names_other_dtype(text, settings):
        settings.pop("kv_cache_dtype", None)
    return settings


def _are_of_all(commands: Sequence[ShownCommand], sections: Sections, lines_of_results: Collection[int]) -> bool:
    """Return whether commands stand in no section of results, or each section of results has one."""
    lines = {command.line for command in commands}
    names = {
        line: name.partition(", ")[0] for line, name in sections.headings_among({*lines, *lines_of_results}).items()
    }
    of_results = {names[line] for line in lines_of_results if line in names}
    of_both = {names[line] for line in lines if line in names} & of_results
    return not of_both or of_both == of_results


def _names_other_dtype(text: str, settings: Mapping[str, JsonValue]) -> bool:
    own_dtype = str(settings.get("kv_cache_dtype", "")).lower()
    dtypes = {(match["first"] or match["last"]).lower() for match in _KV_DTYPE.finditer(text)}
    return any(dtype not in own_dtype and own_dtype not in dtype for dtype in dtypes)


def _settings_of(config: Config) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {
        "engine": config.engine, "engine_version": config.engine_version, "kv_cache_dtype": config.kv_cache_dtype,
        "pipeline_parallel": config.pipeline_parallel, "data_parallel": config.data_parallel,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None and not _OPEN_VALUE.search(str(value))}


def _commands(text: str) -> Iterator[ShownCommand]:
    """Yield the commands that start a server, but not those of advice and of examples; wrapped ones are whole."""
    lines, index = text.splitlines(), 0
    while index < len(lines):
        line, end = lines[index], index + 1
        match = _START.search(line[:MAX_COMMAND_CHARS])
        if match is None:
            index += 1
            continue
        if "`" in line[: match.start()] and "`" in line[match.end() :]:
            command = line[match.start() :].partition("`")[0]
        else:
            while end < min(len(lines), index + MOST_LINES) and _is_continued(lines[end - 1], lines[end]):
                end += 1
            command = "\n".join([line[match.start() :], *lines[index + 1 : end]])
        config = None if is_example(line, match) else explain(command[:MAX_COMMAND_CHARS]).config
        if config and config.engine in BY_NAME:
            yield ShownCommand(index + 1, _settings_of(config))
        index = end


def _is_continued(line: str, following: str) -> bool:
    return _GOES_ON.search(line) is not None or _FLAG.match(following) is not None
