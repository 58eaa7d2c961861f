"""Replaces the file patterns of a command (`models/*.gguf`) by the files that they match, as a shell would.

A pattern is an unquoted `*`, `?` or `[...]` in a word that reads like a path: it has a slash, or ends as a model
or a configuration does. One that matches several files becomes several words, one that matches none is passed on as
it stands. `**` is `*`, hidden files need their dot, as in bash. A run's record has the files: they are what ran.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from glob import iglob
from itertools import islice
from pathlib import Path

from commands.expansion import is_shell_text, words_expansion
from commands.explain import read_argv
from commands.gpus import CONTAINER_LAUNCHERS
from commands.quoting import as_literal
from domain import Config
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, working_directory

MOST_MATCHES = 100  # of one pattern: a command with more files is a mistake


def with_files_named(request: LaunchRequest) -> LaunchRequest:
    """The request with its patterns replaced; one for another machine is matched there.

    Raises LaunchRefusedError for a pattern that matches more files than a command may name.
    """
    if request.on_host is not None:
        return request
    return replace(request, config=name_files(request.config, os.environ, working_directory(request)))


def name_files(config: Config, environ: Mapping[str, str], cwd: Path) -> Config:
    """The config with its patterns replaced by the files that match from `cwd`; raises LaunchRefusedError."""
    found = {}
    for word, pattern, files in _found(config, environ, cwd):
        if len(files) > MOST_MATCHES:
            refusal = f"The pattern {pattern} matches more than {MOST_MATCHES} files"
            raise LaunchRefusedError(f"{refusal}: please name the one that is meant.")
        found[word] = [as_literal(file) for file in files]
    if not any(found.values()):
        return config
    words = [name for word in config.argv for name in found.get(word) or [word]]
    return _reworded(config, words)


def unmatched(config: Config, environ: Mapping[str, str], cwd: Path) -> list[tuple[str, str]]:
    """The words that are patterns and match nothing, as written and as they are passed on."""
    return [(word, pattern) for word, pattern, files in _found(config, environ, cwd) if not files]


def _found(config: Config, environ: Mapping[str, str], cwd: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Each word that is a pattern, as it is passed on where nothing matches, and the files that do."""
    fill = words_expansion(config, environ)
    for at, word in enumerate(config.argv):
        pattern = None if is_shell_text(config.argv, at) else fill.pattern(word)
        if pattern is not None:
            files = iglob(pattern, root_dir=cwd)  # noqa: PTH207 -- Path.glob takes no absolute pattern
            yield word, fill.word(word), sorted(islice(files, MOST_MATCHES + 1))


def _reworded(config: Config, words: list[str]) -> Config:
    """The config with these words, and with what reads otherwise in them."""
    env = {} if config.launcher in CONTAINER_LAUNCHERS else config.env
    before, after = read_argv(config.argv, env), read_argv(words, env)
    changed = {}
    if before and after:
        names = (name for name in Config.model_fields if getattr(before, name) != getattr(after, name))
        changed = {name: getattr(after, name) for name in names}
    return config.model_copy(update={**changed, "argv": tuple(words)})
