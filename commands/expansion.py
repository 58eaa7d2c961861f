"""Expands `~` and `$NAME` as a shell would, because no shell runs a launch; used for the checks and for the start.

A Config keeps its text as written, and marks what was quoted (`commands.quoting`). In the text of `bash -c` only
variables that are set here are expanded; the rest is left to that shell. `$(...)` is never run. References to secrets
stay: `redaction` and the shim insert the values at the start, and they are never stored. File patterns are matched
before (`launcher.checks.file_patterns`): one that is left matched nothing and is passed on as it stands.
"""

from __future__ import annotations

import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape
from typing import NamedTuple

from commands.gpus import CONTAINER_LAUNCHERS
from commands.paste.servers import SHELLS, basename
from commands.quoting import pattern_pieces, without_pattern_marks
from domain import Config
from redaction import is_secret_name

MOST_NESTED = 5  # defaults within defaults
_PIECE = re.compile(
    r"(?<!\\)(?P<literal>\\(?:\\\\)*)\$(?=[A-Za-z_{])|(?:^|(?<=[:=]))(?P<tilde>\\+)(?=~)|"
    r"(?<!\\)(?P<slashes>(?:\\\\)*)\$(?:(?P<bare>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<how>:?[-=+?])(?P<word>(?:[^{}]|\{[^{}]*\})*))?\})"
)
_REFERENCE_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_TILDE = re.compile(r"~(?P<user>[A-Za-z_][\w.-]*)?(?=[/:]|$)")
_HOLD = "\ud808"  # stands for a sign of a pattern while the text around it is filled in
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-z]*c")


@dataclass
class Expansion:
    """Fills texts in from one environment.

    `missing` are the names that it lacks, in their order; `several` those that are a word of the command by themselves
    and hold flags: only a shell that sees the quotes can tell whether they are one word or many.
    """

    environ: Mapping[str, str]
    missing: list[str] = field(default_factory=list)
    several: list[str] = field(default_factory=list)

    def word(self, word: str) -> str:
        """A word of a command: `~` at its start, as an assignment's value also after each colon."""
        return self._word(without_pattern_marks(word))

    def value(self, text: str) -> str:
        """What is assigned to a variable."""
        return self._value(without_pattern_marks(text))

    def pattern(self, word: str) -> str | None:
        """The glob for the files that a word stands for, as Python's `glob` reads it; None where it is no pattern."""
        pieces = pattern_pieces(word)
        if len(pieces) == 1 or word.startswith("-"):
            return None
        text = self._word(_HOLD.join(pieces[::2]))
        signs = iter(pieces[1::2])
        return "".join(escape(part) + next(signs, "").replace("[^", "[!") for part in text.split(_HOLD))

    def words(self, argv: Sequence[str]) -> list[str]:
        """The words of a command, the text of `bash -c` as it stands."""
        alone = [match for match in map(_REFERENCE_ALONE.fullmatch, argv) if match]
        self.several += [match[1] for match in alone if _has_flags(self.environ.get(match[1], ""))]
        return [self._script(word) if is_shell_text(argv, at) else self.word(word) for at, word in enumerate(argv)]

    def _word(self, word: str) -> str:
        assigned = _ASSIGNMENT.match(word)
        return assigned[0] + self._value(word[assigned.end() :]) if assigned else self._references(self._tilde(word))

    def _value(self, text: str) -> str:
        return self._references(":".join(map(self._tilde, text.split(":"))))

    def _script(self, text: str) -> str:
        """The text of `bash -c`: what nothing sets here is that shell's own matter."""
        return Expansion(self.environ)._references(without_pattern_marks(text))

    def _tilde(self, text: str) -> str:
        match = _TILDE.match(text)
        home = self._home_of(match["user"]) if match else None
        return home + text[match.end() :] if match and home else text

    def _home_of(self, user: str | None) -> str | None:
        if user is None:
            return self.environ.get("HOME")
        try:
            return pwd.getpwnam(user).pw_dir
        except KeyError:
            return None

    def _references(self, text: str, depth: int = 0) -> str:
        return _PIECE.sub(lambda match: self._piece(match, depth), text)

    def _piece(self, match: re.Match[str], depth: int) -> str:
        """A marked `$` or `~` without its mark, a reference filled in."""
        slashes = match["literal"] or match["tilde"] or match["slashes"]
        said = "\\" * (len(slashes) // 2)
        if match["literal"]:
            return said + "$"
        return said if match["tilde"] else said + self._referred(match, depth)

    def _referred(self, match: re.Match[str], depth: int) -> str:
        reference = match[0][len(match["slashes"]) :]
        name, how = match["bare"] or match["name"], match["how"] or ""
        if is_secret_name(name):
            return reference
        value = self.environ.get(name)
        is_set = bool(value) if how.startswith(":") else value is not None
        word = match["word"] or ""
        instead = self._references(self._tilde(word), depth + 1) if word and depth < MOST_NESTED else word
        if how.endswith("+"):
            return instead if is_set else ""
        if is_set and value is not None:
            return value
        if how.endswith(("-", "=")):
            return instead
        if name not in self.missing:
            self.missing.append(name)
        return reference


def _has_flags(value: str) -> bool:
    words = value.split()
    return len(words) > 1 and any(word.startswith("-") for word in words)


def is_shell_text(argv: Sequence[str], at: int) -> bool:
    """Whether this word is the text of `bash -c`."""
    if at < 2 or not _SHELL_SCRIPT_FLAG.fullmatch(argv[at - 1]):
        return False
    return any(basename(word) in SHELLS for word in argv[max(0, at - 3) : at - 1])


class Filled(NamedTuple):
    """A config as it is run, and the names for which it cannot be: see `Expansion`."""

    config: Config
    missing: list[str]
    several: list[str]


def expand_config(config: Config, environ: Mapping[str, str]) -> Filled:
    """The config as it is run, its words, environment and paths filled in.

    The environment of a container is no part of its client's.
    """
    outside = Expansion(environ)
    env = _own_environment(config, outside)
    fill = _words_expansion(config, environ, env)
    drafter = config.speculative
    if drafter and drafter.model:
        drafter = drafter.model_copy(update={"model": fill.word(drafter.model)})
    stated = {
        "argv": tuple(fill.words(config.argv)),
        "env": env,
        "volumes": [fill.word(volume) for volume in config.volumes],
        "model": config.model and fill.word(config.model),
        "executable": config.executable and fill.word(config.executable),
        "speculative": drafter,
    }
    missing = [*fill.missing, *([] if config.launcher in CONTAINER_LAUNCHERS else outside.missing)]
    return Filled(config.model_copy(update=stated), list(dict.fromkeys(missing)), list(dict.fromkeys(fill.several)))


def words_expansion(config: Config, environ: Mapping[str, str]) -> Expansion:
    """What fills in the words of the config's command."""
    return _words_expansion(config, environ, _own_environment(config, Expansion(environ)))


def _words_expansion(config: Config, environ: Mapping[str, str], env: Mapping[str, str]) -> Expansion:
    return Expansion(environ if config.launcher in CONTAINER_LAUNCHERS else {**environ, **env})


def _own_environment(config: Config, outside: Expansion) -> dict[str, str]:
    return {name: _value(name, value, outside) for name, value in config.env.items() if not _is_passed_on(name, value)}


def _value(name: str, value: str, outside: Expansion) -> str:
    return value if is_secret_name(name) else outside.value(value)


def _is_passed_on(name: str, value: str) -> bool:
    """Whether a variable is only named, as `-e NAME` does: whoever is started inherits it."""
    return value in (f"${name}", f"${{{name}}}") and not is_secret_name(name)
