"""Expands `~` and `$NAME` as a shell would, because launches run without a shell; used for checks and for the start.

A Config keeps its text as written, with quoted characters marked (`commands.quoting`). In a `bash -c` script only
variables set here are expanded; the rest is left to that shell. `$(...)` is never run. References to secrets stay:
`redaction` and the shim insert the values at the start, and they are never stored. File patterns are matched earlier
(`launcher.checks.file_patterns`); a remaining pattern matched nothing and is passed on unchanged.
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
from commands.quoting import pattern_pieces, without_pattern_marks, without_quotes
from domain import Config
from redaction import is_secret_name

MAX_DEPTH = 5  # defaults within defaults
_PIECE = re.compile(
    r"(?<!\\)(?P<literal>\\(?:\\\\)*)\$(?=[A-Za-z_{])|(?:^|(?<=[:=]))(?P<tilde>\\+)(?=~)|"
    r"(?<!\\)(?P<slashes>(?:\\\\)*)\$(?:(?P<bare>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<how>:?[-=+?])(?P<word>(?:[^{}]|\{[^{}]*\})*))?\})"
)
_REFERENCE_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_TILDE = re.compile(r"~(?P<user>[A-Za-z_][\w.-]*)?(?=[/:]|$)")
_HOLD = "\ud808"  # replaces a pattern character while the text around it is expanded
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-z]*c")


@dataclass
class EnvironmentExpansion:
    """Expands texts from one environment.

    `missing`: names that it lacks, in order. `multi_word_names`: variables that are a whole word of the command and
    contain flags; only a shell that sees the quotes can tell whether they are one word or several.
    """

    environ: Mapping[str, str]
    missing: list[str] = field(default_factory=list)
    multi_word_names: list[str] = field(default_factory=list)

    def word(self, word: str) -> str:
        """Expand a word of a command: `~` at its start and, in an assignment's value, after each colon."""
        return self._word(without_pattern_marks(word))

    def value(self, text: str) -> str:
        """Expand the value of an assignment."""
        return self._value(without_pattern_marks(text))

    def pattern(self, word: str) -> str | None:
        """Return a word's file pattern in the syntax of Python's `glob`; None if it is not a pattern."""
        pieces = pattern_pieces(word)
        if len(pieces) == 1 or word.startswith("-"):
            return None
        text = self._word(_HOLD.join(pieces[::2]))
        signs = iter(pieces[1::2])
        return "".join(escape(part) + next(signs, "").replace("[^", "[!") for part in text.split(_HOLD))

    def words(self, argv: Sequence[str]) -> list[str]:
        """Expand the words of a command; in a `bash -c` script only variables that are set."""
        whole_word_matches = [match for match in map(_REFERENCE_ALONE.fullmatch, argv) if match]
        self.multi_word_names += [
            match[1] for match in whole_word_matches if _has_flags(self.environ.get(match[1], ""))
        ]
        return [
            self._script(word) if is_shell_text(argv, index) else self.word(word) for index, word in enumerate(argv)
        ]

    def _word(self, word: str) -> str:
        assignment = _ASSIGNMENT.match(word)
        return (
            assignment[0] + self._value(word[assignment.end() :]) if assignment else self._references(self._tilde(word))
        )

    def _value(self, text: str) -> str:
        return self._references(":".join(map(self._tilde, text.split(":"))))

    def _script(self, text: str) -> str:
        """Expand a `bash -c` script; unset variables are left to that shell."""
        return EnvironmentExpansion(self.environ)._references(without_pattern_marks(text))

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
        """The replacement of a match: a marked `$` or `~` without its mark, or a reference's value."""
        slashes = match["literal"] or match["tilde"] or match["slashes"]
        backslashes = "\\" * (len(slashes) // 2)
        if match["literal"]:
            return backslashes + "$"
        return backslashes if match["tilde"] else backslashes + self._reference_value(match, depth)

    def _reference_value(self, match: re.Match[str], depth: int) -> str:
        reference = match[0][len(match["slashes"]) :]
        name, operator = match["bare"] or match["name"], match["how"] or ""
        if is_secret_name(name):
            return reference
        value = self.environ.get(name)
        is_set = bool(value) if operator.startswith(":") else value is not None
        word = without_quotes(match["word"] or "")
        substitute = self._references(self._tilde(word), depth + 1) if word and depth < MAX_DEPTH else word
        if operator.endswith("+"):
            return substitute if is_set else ""
        if is_set and value is not None:
            return value
        if operator.endswith(("-", "=")):
            return substitute
        if name not in self.missing:
            self.missing.append(name)
        return reference


def _has_flags(value: str) -> bool:
    words = value.split()
    return len(words) > 1 and any(word.startswith("-") for word in words)


def is_shell_text(argv: Sequence[str], index: int) -> bool:
    """Whether this word is a `bash -c` script."""
    if index < 2 or not _SHELL_SCRIPT_FLAG.fullmatch(argv[index - 1]):
        return False
    return any(basename(word) in SHELLS for word in argv[max(0, index - 3) : index - 1])


class ExpandedConfig(NamedTuple):
    """A config as it is run, and the names that prevent it; see `EnvironmentExpansion`."""

    config: Config
    missing: list[str]
    multi_word_names: list[str]


def expand_config(config: Config, environ: Mapping[str, str]) -> ExpandedConfig:
    """Expand the words, environment and paths of a config.

    A container's environment is not part of its client's.
    """
    outer_expansion = EnvironmentExpansion(environ)
    env = _own_environment(config, outer_expansion)
    word_expansion = _words_expansion(config, environ, env)
    drafter = config.speculative
    if drafter and drafter.model:
        drafter = drafter.model_copy(update={"model": word_expansion.word(drafter.model)})
    update = {
        "argv": tuple(word_expansion.words(config.argv)),
        "env": env,
        "volumes": [word_expansion.word(volume) for volume in config.volumes],
        "model": config.model and word_expansion.word(config.model),
        "executable": config.executable and word_expansion.word(config.executable),
        "speculative": drafter,
    }
    missing = [*word_expansion.missing, *([] if config.launcher in CONTAINER_LAUNCHERS else outer_expansion.missing)]
    return ExpandedConfig(
        config.model_copy(update=update),
        list(dict.fromkeys(missing)),
        list(dict.fromkeys(word_expansion.multi_word_names)),
    )


def words_expansion(config: Config, environ: Mapping[str, str]) -> EnvironmentExpansion:
    """Return the expansion for the words of the config's command."""
    return _words_expansion(config, environ, _own_environment(config, EnvironmentExpansion(environ)))


def _words_expansion(config: Config, environ: Mapping[str, str], env: Mapping[str, str]) -> EnvironmentExpansion:
    return EnvironmentExpansion(environ if config.launcher in CONTAINER_LAUNCHERS else {**environ, **env})


def _own_environment(config: Config, outer_expansion: EnvironmentExpansion) -> dict[str, str]:
    return {
        name: _value(name, value, outer_expansion)
        for name, value in config.env.items()
        if not _is_passed_on(name, value)
    }


def _value(name: str, value: str, outer_expansion: EnvironmentExpansion) -> str:
    return value if is_secret_name(name) else outer_expansion.value(value)


def _is_passed_on(name: str, value: str) -> bool:
    """Whether a variable is only named, as with `-e NAME`, and inherited by the started process."""
    return value in (f"${name}", f"${{{name}}}") and not is_secret_name(name)
