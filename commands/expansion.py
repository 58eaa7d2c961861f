"""`~` and `$NAME` as a shell would fill them in, for no shell runs a launch: what is checked and what is run alike.

A Config keeps its text as written. Its words know no quotes any more, so what was quoted is filled in too; the text of
`bash -c` is left to the shell that reads it, and `$(...)` is run by nobody. References to secrets stay: they are put in
at the start, by `redaction` and the shim, and never stored.
"""

from __future__ import annotations

import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commands.gpus import CONTAINER_LAUNCHERS
from commands.paste.servers import SHELLS, basename
from domain import Config
from redaction import is_secret_name

MOST_NESTED = 5  # defaults within defaults
_REFERENCE = re.compile(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<how>:?[-=+?])(?P<word>(?:[^{}]|\{[^{}]*\})*))?\})"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TILDE = re.compile(r"~(?P<user>[A-Za-z_][\w.-]*)?(?=[/:]|$)")
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-z]*c")


@dataclass
class Expansion:
    """Fills texts in from one environment; `missing` are the names that it lacks, in their order."""

    environ: Mapping[str, str]
    fills_secrets: bool = False  # for what is given to the process alone
    missing: list[str] = field(default_factory=list)

    def word(self, word: str) -> str:
        """A word of a command: `~` at its start, as an assignment's value also after each colon."""
        assigned = _ASSIGNMENT.match(word)
        return assigned[0] + self.value(word[assigned.end() :]) if assigned else self._references(self._tilde(word))

    def value(self, text: str) -> str:
        """What is assigned to a variable."""
        return self._references(":".join(map(self._tilde, text.split(":"))))

    def words(self, argv: Sequence[str]) -> list[str]:
        """The words of a command, the text of `bash -c` as it stands."""
        return [word if _is_shell_text(argv, at) else self.word(word) for at, word in enumerate(argv)]

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
        return _REFERENCE.sub(lambda match: self._referred(match, depth), text)

    def _referred(self, match: re.Match[str], depth: int) -> str:
        name, how = match["bare"] or match["name"], match["how"] or ""
        if is_secret_name(name) and not self.fills_secrets:
            return match[0]
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
        return match[0]


def _is_shell_text(argv: Sequence[str], at: int) -> bool:
    if at < 2 or not _SHELL_SCRIPT_FLAG.fullmatch(argv[at - 1]):
        return False
    return any(basename(word) in SHELLS for word in argv[max(0, at - 3) : at - 1])


def expand_config(config: Config, environ: Mapping[str, str]) -> tuple[Config, list[str]]:
    """The config as it is run, its words, environment and paths filled in, and the names that nothing sets.

    The environment of a container is no part of its client's.
    """
    is_contained = config.launcher in CONTAINER_LAUNCHERS
    outside = Expansion(environ)
    env = {name: _value(name, value, outside) for name, value in config.env.items() if not _is_passed_on(name, value)}
    fill = Expansion(environ if is_contained else {**environ, **env})
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
    missing = [*fill.missing, *([] if is_contained else outside.missing)]
    return config.model_copy(update=stated), list(dict.fromkeys(missing))


def _value(name: str, value: str, outside: Expansion) -> str:
    return value if is_secret_name(name) else outside.value(value)


def _is_passed_on(name: str, value: str) -> bool:
    """Whether a variable is only named, as `-e NAME` does: whoever is started inherits it."""
    return value in (f"${name}", f"${{{name}}}") and not is_secret_name(name)
