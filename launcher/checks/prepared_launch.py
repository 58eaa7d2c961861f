"""Launch request prepared once for its machine; the checks, the record and the start all use this value."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from commands.expansion import expand_config
from commands.secrets import HiddenCommand, hide_secrets, missing_secrets, quoted
from domain import Config
from launcher.checks.file_patterns import resolve_patterns
from launcher.checks.launch_request import (
    LaunchRefusedError,
    LaunchRequest,
    answering_url,
    port_of,
    working_directory,
)
from launcher.processes.runtimes import backend_of


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A launch request with everything that its start needs.

    request: the recorded one, with file patterns resolved, and `~` and variables as written.
    config: the executed one, with `~` and variables expanded; for another machine, which expands them, as recorded.
    base_url, port: the server's address as seen from its own machine.
    """

    request: LaunchRequest
    config: Config
    base_url: str
    port: int
    cwd: Path

    @property
    def is_here(self) -> bool:
        """Whether the server starts on this machine."""
        return self.request.on_host is None

    def as_repeat(self, request: LaunchRequest) -> PreparedLaunch:
        """Return the launch of a further repeat with the same prepared command."""
        return replace(self, request=replace(request, config=self.request.config))

    def hide_secrets(self, run_id: str) -> HiddenCommand:
        """Return the run's command as it may be written to disk, and the secrets that its start needs, by variable."""
        argv = backend_of(self.config, run_id).shim_argv(self.config.argv) if self.is_here else self.config.argv
        return hide_secrets(argv, self.config.env, self.request.secrets, os.environ)


def prepare_launch(request: LaunchRequest) -> PreparedLaunch:
    """Prepare the request for its machine; this lists folders of this one, which may hang.

    Raises LaunchRefusedError for an invalid command, an unset variable, a pattern that matches too many files, a
    missing secret, and an unknown address.
    """
    _check_words(request.config.argv)
    is_here = request.on_host is None
    cwd = working_directory(request)
    config = request.config
    if is_here:
        request = replace(request, config=resolve_patterns(request.config, os.environ, cwd))
        config = _expand(request.config)
    missing = missing_secrets(config, {**os.environ, **request.secrets})
    if missing:
        raise LaunchRefusedError(f"Pitwall does not store the secret {quoted(missing)}: please enter it.")
    base_url = answering_url(request.base_url, config)
    return PreparedLaunch(request, config, base_url, port_of(base_url), cwd)


def _check_words(argv: tuple[str, ...]) -> None:
    if not argv or not argv[0].strip():
        raise LaunchRefusedError("There is no command to run.")
    if any("\0" in word for word in argv):
        raise LaunchRefusedError("The command contains a NUL character, which no program accepts.")


def _expand(config: Config) -> Config:
    """Return the config with `~` and variables expanded as a shell would; raises LaunchRefusedError."""
    expanded = expand_config(config, os.environ)
    if expanded.missing:
        names = ", $".join(expanded.missing)
        raise LaunchRefusedError(f"The command uses ${names}, which is not set: please enter its value.")
    for name in expanded.multi_word_names:
        raise LaunchRefusedError(explain_several_words(name))
    return expanded.config


def explain_several_words(name: str) -> str:
    """Return the sentence about a variable whose value is several words."""
    return f"${name} contains several words, including flags: please write them directly into the command."
