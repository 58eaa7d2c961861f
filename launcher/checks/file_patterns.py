"""Replaces file patterns in a command (`models/*.gguf`) by the files that match, as a shell would.

A pattern is an unquoted `*`, `?` or `[...]` in a word that looks like a path: it has a slash, or the suffix of a model
or configuration file. A pattern that matches several files becomes several words; one that matches none is passed on
unchanged. As in bash, `**` is `*` and hidden files need an explicit dot. The run's record lists the matched files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from glob import iglob
from itertools import islice
from pathlib import Path

from commands.expansion import is_shell_text, words_expansion
from commands.explain import read_argv
from commands.gpus import CONTAINER_LAUNCHERS
from commands.quoting import as_literal
from domain import Config
from launcher.checks.launch_request import LaunchRefusedError

MOST_MATCHES = 100  # of one pattern: a command with more files is a mistake


def resolve_patterns(config: Config, environ: Mapping[str, str], cwd: Path) -> Config:
    """Return the config with its patterns replaced by the matches in `cwd`; raises LaunchRefusedError."""
    names_by_word = {}
    for word, pattern, files in _matches(config, environ, cwd):
        if len(files) > MOST_MATCHES:
            refusal = f"The pattern {pattern} matches more than {MOST_MATCHES} files"
            raise LaunchRefusedError(f"{refusal}: please name the file that you mean.")
        names_by_word[word] = [as_literal(file) for file in files]
    if not any(names_by_word.values()):
        return config
    words = [name for word in config.argv for name in names_by_word.get(word) or [word]]
    return _with_argv(config, words)


def unmatched_patterns(config: Config, environ: Mapping[str, str], cwd: Path) -> list[tuple[str, str]]:
    """Return the patterns that match nothing, each as written and as it is passed on."""
    return [(word, pattern) for word, pattern, files in _matches(config, environ, cwd) if not files]


def _matches(config: Config, environ: Mapping[str, str], cwd: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each pattern word, its text if nothing matches, and the matching files."""
    fill = words_expansion(config, environ)
    for index, word in enumerate(config.argv):
        pattern = None if is_shell_text(config.argv, index) else fill.pattern(word)
        if pattern is not None:
            files = iglob(pattern, root_dir=cwd)  # noqa: PTH207 -- Path.glob takes no absolute pattern
            yield word, fill.word(word), sorted(islice(files, MOST_MATCHES + 1))


def _with_argv(config: Config, argv: list[str]) -> Config:
    """Return the config with this argv, and with the fields that follow from the changed words."""
    env = {} if config.launcher in CONTAINER_LAUNCHERS else config.env
    before, after = read_argv(config.argv, env), read_argv(argv, env)
    changed = {}
    if before and after:
        names = (name for name in Config.model_fields if getattr(before, name) != getattr(after, name))
        changed = {name: getattr(after, name) for name in names}
    return config.model_copy(update={**changed, "argv": tuple(argv)})
