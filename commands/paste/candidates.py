"""A server command found in a paste, with its environment, container and launcher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from commands.paste.containers import ContainerCommand, find_runtime, read_container
from commands.paste.notes import Notes
from commands.paste.servers import (
    INVOCATIONS,
    NEVER_SERVE,
    SHELLS,
    ServerCommand,
    basename,
    engine_of_flags,
    engine_of_image,
    find_script,
    find_server,
    inner_script,
    is_python,
    quoted_command,
)
from commands.paste.variables import Arg
from engines import BY_NAME

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(?!=)(.*)$", re.DOTALL)
_SRUN_EXPORT = re.compile(r"--export=(.*)$")
_PROPERTY_FLAGS = frozenset({"-p", "--property"})  # of `systemd-run`: NAME=value for the unit
_PLAIN_WRAPPERS = frozenset({"nohup", "exec", "time", "env", "setsid", "command"})


@dataclass
class Candidate:
    """A command to read as a configuration; `server` is None if the engine is unknown."""

    launcher: str
    server: ServerCommand | None
    env: dict[str, str] = field(default_factory=dict)  # as written
    container: ContainerCommand | None = None
    argv: list[str] = field(default_factory=list)  # the words to run
    launcher_flags: list[str] = field(default_factory=list)
    truncation: str | None = None  # why its end is missing, if it is
    line: int = 1  # of the script, where its command begins


def in_container(container: ContainerCommand, notes: Notes) -> Candidate:
    """Return the server in a container: from its words, else its image, else flags of a single engine."""
    launcher_flags = list(container.flags)
    server = find_server(container.args)
    if server:
        launcher_flags += wrapper_flags(server.prefix)
        return Candidate(container.launcher, server, dict(container.env), container, [], launcher_flags)
    texts = [word.text for word in container.args]
    engine = engine_of_image(container.image)
    if engine is None and container.image and (engine := engine_of_flags(texts)):
        notes.add(notes.warnings, f"the image {container.image} names no known engine; its flags are those of {engine}")
    invocation = INVOCATIONS.get(engine) if engine else None
    if invocation and texts and texts[0] in invocation.image_words:
        launcher_flags.append(texts.pop(0))
    if engine is None or (texts and (basename(texts[0]) in SHELLS or is_python(texts[0]))):
        return Candidate(container.launcher, None, dict(container.env), container, [], launcher_flags)
    executable = texts.pop(0) if texts and texts[0].endswith((".sh", ".py")) else None
    if invocation and invocation.image_command == () and texts and not executable:
        text = f"{BY_NAME[engine].title}'s images have no entrypoint: flags alone do not start a server"
        notes.add(notes.warnings, text)
    return Candidate(
        container.launcher, ServerCommand(engine, executable, texts), dict(container.env), container, [], launcher_flags
    )


def in_words(words: Sequence[Arg], notes: Notes) -> Candidate | None:
    """Return the server in a command's words, in a container or not; None if there is none."""
    if not words or basename(words[0].text) in NEVER_SERVE:
        return None
    if container := read_container(words):
        candidate = in_container(container, notes)
        position, _, _ = find_runtime(words) or (0, 0, "")
        candidate.env = read_assignments(words[:position]) | candidate.env
        candidate.argv = [word.text for word in words[position:]]
        return candidate
    server = find_server(words)
    if server:
        is_script = find_script(server.prefix) is not None
        wrapper_words = [word.text for word in without_shell_words(server.prefix)]
        return Candidate(
            "script" if is_script else "process",
            server,
            read_assignments(server.prefix),
            argv=[*wrapper_words, *server.start, *server.args],
            launcher_flags=wrapper_flags(server.prefix),
        )
    return in_launch_script(words)


def in_launch_script(words: Sequence[Arg]) -> Candidate | None:
    """Return a known launch script without a server command; its recipe determines the model."""
    script = find_script(words)
    if not script:
        return None
    engine, position = script
    texts = [word.text for word in words]
    script_flags, engine_args = split_recipe_options(texts[position + 1 :])
    return Candidate(
        "script",
        ServerCommand(engine, texts[position], engine_args),
        read_assignments(words[:position]),
        argv=texts[position:],
        launcher_flags=script_flags,
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
    """Split a recipe script's arguments into its own words and engine flags."""
    script_words: list[str] = []
    engine_args: list[str] = []
    at = 0
    while at < len(texts):
        name, equals, value = texts[at].partition("=")
        following = texts[at + 1] if at + 1 < len(texts) else None
        takes_next = not equals and following is not None and not following.startswith("-")
        at += 1
        if name == "--":
            return script_words, [*engine_args, *texts[at:]]
        if name in RECIPE_FLAGS and (equals or takes_next):
            engine_args += [RECIPE_FLAGS[name], value if equals else str(following)]
            at += not equals
        elif takes_next and name.startswith("-") and name not in _RECIPE_SWITCHES:
            script_words.append(f"{name} {following}")
            at += 1
        else:
            script_words.append(texts[at - 1])
    return script_words, engine_args


def unread_script(candidate: Candidate | None, words: Sequence[Arg]) -> str | None:
    """Return the `bash -c '...'` script that still has to be searched for the server."""
    if candidate and candidate.server and candidate.server.executable:
        return None
    args = candidate.container.args if candidate and candidate.container else words
    inner = inner_script(args)
    return inner[1] if inner else None if candidate else quoted_command(args)


def read_assignments(words: Sequence[Arg]) -> dict[str, str]:
    """Return NAME=value among wrapper words: `env A=1`, `sudo A=1`, `mpirun -x A=1`, `srun --export=ALL,A=1`."""
    env: dict[str, str] = {}
    for previous, word in zip([None, *words], words, strict=False):
        if previous and previous.text in _PROPERTY_FLAGS:
            continue
        export_match = _SRUN_EXPORT.match(word.raw)
        for text in export_match[1].split(",") if export_match else [word.raw]:
            if match := _ASSIGNMENT.match(text):
                env[match[1]] = match[2]
    return env


def without_shell_words(prefix: Sequence[Arg]) -> list[Arg]:
    """Drop leading wrapper words that do not change the command (`nohup`, `env A=1`)."""
    start = 0
    while start < len(prefix) and (_ASSIGNMENT.match(prefix[start].text) or prefix[start].text in _PLAIN_WRAPPERS):
        start += 1
    return list(prefix[start:])


def wrapper_flags(prefix: Sequence[Arg]) -> list[str]:
    """Return the words before a server's command as one launcher flag, if any."""
    text = " ".join(word.text for word in prefix)
    return [text] if text else []
