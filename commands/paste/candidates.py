"""A server command found in a paste, with its environment, container and launcher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from commands.paste.containers import Container, find_runtime, read_container
from commands.paste.notes import Notes
from commands.paste.servers import (
    INVOCATIONS,
    NEVER_SERVE,
    SHELLS,
    Server,
    basename,
    engine_of_flags,
    engine_of_image,
    find_script,
    find_server,
    inner_script,
    quoted_command,
)
from commands.paste.variables import Arg
from engines import BY_NAME

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(?!=)(.*)$", re.DOTALL)
_SRUN_EXPORT = re.compile(r"--export=(.*)$")
_PLAIN_WRAPPERS = frozenset({"nohup", "exec", "time", "env", "setsid", "command"})


@dataclass
class Candidate:
    """What is to be read as a configuration; `server` is None where the engine is not known."""

    launcher: str
    server: Server | None
    env: dict[str, str] = field(default_factory=dict)  # as written
    container: Container | None = None
    argv: list[str] = field(default_factory=list)  # what would be run
    launcher_flags: list[str] = field(default_factory=list)
    torn: str | None = None  # why its end is missing


def in_container(container: Container, notes: Notes) -> Candidate:
    """The server that a container runs: named by its words, else by its image, else by flags that only one has."""
    launcher_flags = list(container.flags)
    server = find_server(container.args)
    if server:
        launcher_flags += wrapper_flags(server.prefix)
        return Candidate(container.launcher, server, dict(container.env), container, [], launcher_flags)
    texts = [word.text for word in container.args]
    engine = engine_of_image(container.image)
    if engine is None and container.image and (engine := engine_of_flags(texts)):
        notes.add(notes.warnings, f"the image {container.image} names no engine we know; by its flags it is {engine}")
    invocation = INVOCATIONS.get(engine) if engine else None
    if invocation and texts and texts[0] in invocation.image_words:
        launcher_flags.append(texts.pop(0))
    if engine is None or (texts and basename(texts[0]) in SHELLS):
        return Candidate(container.launcher, None, dict(container.env), container, [], launcher_flags)
    executable = texts.pop(0) if texts and texts[0].endswith((".sh", ".py")) else None
    if invocation and invocation.image_command == () and texts and not executable:
        text = f"{BY_NAME[engine].title}'s images have no entrypoint: flags alone would not start a server"
        notes.add(notes.warnings, text)
    return Candidate(
        container.launcher, Server(engine, executable, texts), dict(container.env), container, [], launcher_flags
    )


def in_words(words: Sequence[Arg], notes: Notes) -> Candidate | None:
    """The server in a command's words, in a container or not; None if there is none."""
    if not words or basename(words[0].text) in NEVER_SERVE:
        return None
    if container := read_container(words):
        candidate = in_container(container, notes)
        position, _, _ = find_runtime(words) or (0, 0, "")
        candidate.env = assigned(words[:position]) | candidate.env
        candidate.argv = [word.text for word in words[position:]]
        return candidate
    server = find_server(words)
    if server:
        is_script = find_script(server.prefix) is not None
        kept = [word.text for word in without_shell_words(server.prefix)]
        return Candidate(
            "script" if is_script else "process",
            server,
            assigned(server.prefix),
            argv=[*kept, *server.start, *server.args],
            launcher_flags=wrapper_flags(server.prefix),
        )
    return in_launch_script(words)


def in_launch_script(words: Sequence[Arg]) -> Candidate | None:
    """A known launch script that names no server itself: its recipe decides the model."""
    found = find_script(words)
    if not found:
        return None
    engine, position = found
    texts = [word.text for word in words]
    own, engine_args = split_recipe_options(texts[position + 1 :])
    return Candidate(
        "script",
        Server(engine, texts[position], engine_args),
        assigned(words[:position]),
        argv=texts[position:],
        launcher_flags=own,
    )


RECIPE_FLAGS = {
    "--tp": "--tensor-parallel-size",
    "--tensor-parallel": "--tensor-parallel-size",
    "--pp": "--pipeline-parallel-size",
    "--gpu-mem": "--gpu-memory-utilization",
    "--gpu-memory-utilization": "--gpu-memory-utilization",
    "--port": "--port",
    "--host": "--host",
    "--max-model-len": "--max-model-len",
}
_RECIPE_SWITCHES = frozenset({"--setup", "--solo", "-d", "--daemon", "--dry-run", "--list", "--no-ray", "--discover"})


def split_recipe_options(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """A recipe script's own words, and what it hands to the engine in the engine's terms."""
    own: list[str] = []
    engine_args: list[str] = []
    at = 0
    while at < len(texts):
        name, equals, value = texts[at].partition("=")
        following = texts[at + 1] if at + 1 < len(texts) else None
        takes_next = not equals and following is not None and not following.startswith("-")
        at += 1
        if name == "--":
            return own, [*engine_args, *texts[at:]]
        if name in RECIPE_FLAGS and (equals or takes_next):
            engine_args += [RECIPE_FLAGS[name], value if equals else str(following)]
            at += not equals
        elif takes_next and name.startswith("-") and name not in _RECIPE_SWITCHES:
            own.append(f"{name} {following}")
            at += 1
        else:
            own.append(texts[at - 1])
    return own, engine_args


def script_of(candidate: Candidate | None, words: Sequence[Arg]) -> str | None:
    """The text of `bash -c '...'` that still has to be read for the server."""
    if candidate and candidate.server and candidate.server.executable:
        return None
    own = candidate.container.args if candidate and candidate.container else words
    inner = inner_script(own)
    return inner[1] if inner else None if candidate else quoted_command(own)


def assigned(words: Sequence[Arg]) -> dict[str, str]:
    """NAME=value among wrapper words: `env A=1`, `sudo A=1`, `mpirun -x A=1`, `srun --export=ALL,A=1`."""
    env: dict[str, str] = {}
    for word in words:
        exported = _SRUN_EXPORT.match(word.raw)
        for text in exported[1].split(",") if exported else [word.raw]:
            if match := _ASSIGNMENT.match(text):
                env[match[1]] = match[2]
    return env


def without_shell_words(prefix: Sequence[Arg]) -> list[Arg]:
    """Wrapper words without those at their start that change nothing of what runs (`nohup`, `env A=1`)."""
    at = 0
    while at < len(prefix) and (_ASSIGNMENT.match(prefix[at].text) or prefix[at].text in _PLAIN_WRAPPERS):
        at += 1
    return list(prefix[at:])


def wrapper_flags(prefix: Sequence[Arg]) -> list[str]:
    """The words before a server's command as one launcher flag; none where there are none."""
    text = " ".join(word.text for word in prefix)
    return [text] if text else []
