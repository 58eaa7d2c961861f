"""Rewrites llama.cpp's presets, INI files, as commands: the router's (`--models-preset FILE`), a repository's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from shlex import join

from engines.flag_table import Flag
from engines.llamacpp.flags import TABLE

MAX_TEXT = 100_000  # characters
ALL_MODELS = "*"  # the section whose settings hold for every model
LEAST_KNOWN_SHARE = 2 / 3  # of the keys: other programs have INI files too
_SECTION = re.compile(r"^[ \t]*\[[^\]\n]+\][ \t]*(?:[;#][^\n]*)?$", re.MULTILINE)
_SETTINGS_ALONE = re.compile(r"(?:[ \t]*(?:[;#][^\n]*|[A-Za-z][\w-]*[ \t]*=[^\n]*)?(?:\n|$))+")
_ROUTER_KEYS = frozenset({"version", "load-on-startup", "stop-timeout"})
_MODEL_FLAGS = frozenset({"--model", "--hf-repo", "--model-url", "--docker-repo"})
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(?::[\w.-]+)?")
_ON = frozenset({"true", "on", "1", "enabled", "yes"})


def rewrite_presets(text: str) -> str:
    """Return one command per model; other texts stay as they are."""
    if len(text) > MAX_TEXT:
        return text
    has_sections = bool(_SECTION.search(text))
    if not has_sections and not _SETTINGS_ALONE.fullmatch(text):
        return text
    parser = ConfigParser(
        interpolation=None, strict=False, delimiters=("=",), default_section=ALL_MODELS, inline_comment_prefixes=(";",)
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    preamble = "version"  # what stands before the first section: the version of the format
    try:
        parser.read_string(f"[{preamble}]\n{text}")
    except Error:
        return text
    if not has_sections:
        return _repository_command(parser[preamble]) or text
    names = [name for name in parser.sections() if name != preamble]
    keys = {key for name in names for key in parser[name]} - _ROUTER_KEYS
    known_count = sum(_flag_of(key) is not None for key in keys)
    if not names or not keys or known_count < LEAST_KNOWN_SHARE * len(keys):
        return text
    return "\n".join(join(_command(name, parser.defaults(), parser[name])) for name in names)


def _repository_command(settings: Mapping[str, str]) -> str | None:
    """The command of a repository's `preset.ini`, which has no sections; None if it names no model to load."""
    flags = [_flag_of(key) for key in settings]
    flag_names = {name for flag in flags if flag for name in flag.names}
    # A hyphen in a name tells it from the variables of a shell.
    if None in flags or not flag_names & _MODEL_FLAGS or not any("-" in key for key in settings):
        return None
    return join(["llama-server", *(word for key, value in settings.items() for word in _words(key, value))])


def _command(name: str, defaults: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    """The command of one model: the router names it after its section."""
    own_settings = {key: value for key, value in settings.items() if value != defaults.get(key)}
    own_flags = {_flag_of(key) for key in own_settings}
    pairs = [
        pair for pair in defaults.items() if pair[0] not in own_settings and _flag_of(pair[0]) not in own_flags - {None}
    ]
    pairs = [(key, value) for key, value in [*pairs, *own_settings.items()] if key not in _ROUTER_KEYS]
    flag_names = {flag_name for key, _ in pairs if (flag := _flag_of(key)) for flag_name in flag.names}
    words = ["llama-server", *(word for key, value in pairs for word in _words(key, value))]
    if not _MODEL_FLAGS & flag_names and _REPOSITORY.fullmatch(name):
        words += ["-hf", name]
    return words if "--alias" in flag_names else [*words, "--alias", name]


def _words(key: str, value: str) -> Iterator[str]:
    """The words of one setting; a switch that is off becomes its opposite, if there is one."""
    flag = _flag_of(key)
    spellings = [name for name in (f"--{key}", f"-{key}") if flag and name in flag.names]
    name = spellings[0] if spellings else flag.names[-1] if flag else f"--{key}"
    if flag is None or flag.takes != "switch":
        yield from (name, value)
    elif value.lower() in _ON:
        yield name
    elif (opposite := f"--no-{name.removeprefix('--')}") in TABLE.by_name:
        yield opposite


def _flag_of(key: str) -> Flag | None:
    by_variable = next((flag for flag in TABLE.by_name.values() if flag.env == key), None)
    return by_variable or TABLE.find(f"-{key}")[0] or TABLE.find(f"--{key}")[0]
