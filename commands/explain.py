"""Reads a pasted launch command as a Config, and lists everything left out or changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, Field

from commands.gpus import GPU_VARIABLES, slurm_gpus, slurm_nodes
from commands.paste.candidates import Candidate
from commands.paste.containers import published_port
from commands.paste.find_command import find_candidate, read_words
from commands.paste.notes import Notes, PasteRefusedError
from commands.paste.other_servers import find_other_server, find_printed_command, find_program
from commands.paste.servers import INVOCATIONS, SHELLS, basename, engine_of_image
from commands.paste.variables import Variables, arg
from commands.quoting import without_marks
from commands.secrets import distinctive, mask_argv, take_secrets
from commands.settings_file import with_settings
from domain import Config, JsonValue
from engines import BY_NAME, ENGINES
from engines.base import CommandReading, Engine
from engines.forced_acceptance import forced_sentence
from redaction import is_reference, mask_text

MAX_PASTE = 1_000_000  # characters
MAX_NOTE = 200  # characters
_TITLES = [engine.title for engine in ENGINES if engine.commands]
_TAG_VERSION = re.compile(r":v(\d+(?:\.\d+)+(?:\.?post\d+|rc\d+)?)(?:$|[-_.])")
_PROGRAM_PATH = re.compile(r"\s*(?:[A-Za-z_]\w*=\S*\s+)*(?P<path>(?:/|~/|\.{1,2}/)[^\s;&|<>()'\"]+)(?=\s|$)")
_PROGRAMS = {word for invocation in INVOCATIONS.values() for word in invocation.first_words}
_EXCLUDED_FIELDS = {"argv", "engine_version", "sampling", "options"}  # not part of the command reading's key names


class Explanation(BaseModel):
    """The reading of a paste; if `refused` is set, `config` is at most a draft that the user must confirm."""

    config: Config | None = None
    refused: str | None = None  # one sentence
    left_out: list[str] = Field(default_factory=list)
    repaired: list[str] = Field(default_factory=list)
    unresolved: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    launcher_flags: list[str] = Field(default_factory=list)
    secret_names: list[str] = Field(default_factory=list)  # variables and flags whose literal value was masked

    def as_json(self) -> dict[str, JsonValue]:
        """Return the reading under Config's key names, and the notes; unstated values are null."""
        fields: dict[str, Any] = self.config.model_dump(mode="json", exclude=_EXCLUDED_FIELDS) if self.config else {}
        if fields.get("engine") == "other":
            fields["engine"] = None
        if fields.get("speculative"):
            fields["speculative"] = {
                name: v for name, v in fields["speculative"].items() if v is not None and name not in _EXCLUDED_FIELDS
            }
        return {key: _unmarked(value) for key, value in fields.items()} | self.model_dump(exclude={"config"})


def _unmarked(value: JsonValue) -> JsonValue:
    """A value without quoting marks."""
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return without_marks(value) if isinstance(value, str) else value


def explain(text: str) -> Explanation:
    """Read a paste; never raises, evaluates nothing, and returns no secrets."""
    return explain_with_secrets(text)[0]


def explain_with_secrets(text: str) -> tuple[Explanation, dict[str, str]]:
    """Read a paste, and return its literal secrets by place: only for the launch, never to be stored or shown."""
    if len(text) > MAX_PASTE:
        return Explanation(refused=f"The paste is longer than {MAX_PASTE} characters, too long for a command."), {}
    notes = Notes()
    try:
        candidate, variables = find_candidate(text, notes)
    except PasteRefusedError as refusal:
        return Explanation(refused=str(refusal)), {}
    if candidate is None:
        return _masked(Explanation(refused=_no_server(text)), notes, variables.secrets), {}
    explanation = _read_candidate(candidate, variables, notes)
    if candidate.server is None:
        explanation = explanation.model_copy(update={"refused": _printing_reason(text) or explanation.refused})
    assert explanation.config
    config, secrets = take_secrets(explanation.config)
    explanation = explanation.model_copy(update={"config": config, "secret_names": sorted(secrets)})
    return _masked(explanation, notes, variables.secrets | set(secrets.values())), secrets


def _no_server(text: str) -> str:
    """Why no server was found; an unknown program given by its path is probably misspelled."""
    titles = ", ".join(_TITLES)
    if sentence := _printing_reason(text):
        return sentence
    if name := find_other_server(text):
        known_titles = f"{', '.join(_TITLES[:-1])} and {_TITLES[-1]}"
        return f"The paste starts {name}, which is not supported: commands of {known_titles} are read."
    path_match = _PROGRAM_PATH.match(text)
    if path_match is None or basename(path_match["path"]) in SHELLS:
        return _no_program(text, titles)
    close_matches = get_close_matches(basename(path_match["path"]), sorted(_PROGRAMS), n=1)
    hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
    return f"{mask_text(path_match['path'])} is not a known server ({titles}): check the spelling of its path.{hint}"


def _no_program(text: str, titles: str) -> str:
    """Why no server was found, by the program that the paste starts."""
    program = find_program(text)
    if program is None:
        return f"No command of a known server ({titles}) was found in the paste."
    sentence = f"The paste starts {program.name}, which is no command of a known server ({titles})."
    if program.engine_of_flags is None:
        return sentence
    title = BY_NAME[program.engine_of_flags].title
    return f"{sentence} Flags of {title} stand in it: put the start of its command before them."


def _printing_reason(text: str) -> str | None:
    """Why a script that writes a server's command into another script starts none; None for any other text."""
    command = find_printed_command(text)
    if command is None:
        return None
    title = BY_NAME[command.engine].title
    return (
        f"The paste does not start the server itself: its {command.program} writes a command of {title} for another "
        "script. Paste that script as it is written."
    )


def _no_engine(candidate: Candidate) -> str:
    """Why a container's engine is unknown: by its image, or by what the image runs instead of its server."""
    container = candidate.container
    image = container.image if container else None
    if container and container.args and engine_of_image(image):
        words = shorten(" ".join(word.text for word in container.args))
        return (
            f"The container {image} runs {words}, which is no server's command: "
            "paste the script that starts the server, or its command."
        )
    source_words = f"image {image}" if image else "the command names no image"
    return f"The engine is unknown ({source_words}); supported are {', '.join(_TITLES[:-1])} and {_TITLES[-1]}."


def _read_candidate(candidate: Candidate, variables: Variables, notes: Notes) -> Explanation:
    notes.launcher_flags += candidate.launcher_flags
    engine = BY_NAME[candidate.server.engine] if candidate.server else None
    env = {name: variables.expand_text(value) for name, value in candidate.env.items()} if _reads_env(engine) else {}
    reading = CommandReading()
    if candidate.server and engine and engine.commands:
        reading = engine.commands.read_command(candidate.server.engine_args, env)
        reading = with_settings(reading, candidate, engine, variables.files, notes)
    hosted = candidate.server.hosted_module if candidate.server else None
    if candidate.server and hosted:
        module = candidate.server.start[-1]
        notes.add(notes.warnings, f"{module} is a worker of {hosted.host}: it serves nothing without {hosted.host}")
    for text in reading.warnings:
        if not (hosted and hosted.flag_prefix and text.startswith(hosted.flag_prefix)):
            notes.add(notes.warnings, text)
    refused = candidate.truncation
    if engine is None:
        refused = _no_engine(candidate)
    config = build_config(candidate, engine, reading, notes)
    if engine and engine.forced_acceptance and (switch := engine.forced_acceptance(config)):
        notes.add(notes.warnings, forced_sentence(switch))
    return Explanation(config=config, refused=refused)


def read_argv(argv: Sequence[str], env: Mapping[str, str]) -> Config | None:
    """Read the words of a command and its environment as a Config; None without a known engine."""
    notes = Notes()
    variables = Variables(notes)
    candidate = read_words([arg(word) for word in argv], variables, notes)
    if candidate is None or candidate.server is None:
        return None
    candidate.env = {**env, **candidate.env}
    config = _read_candidate(candidate, variables, notes).config
    return take_secrets(config)[0] if config else None


def _reads_env(engine: Engine | None) -> bool:
    return engine is not None and engine.invocation is not None and engine.invocation.reads_env


def build_config(candidate: Candidate, engine: Engine | None, reading: CommandReading, notes: Notes) -> Config:
    """The typed configuration, still with literal secrets."""
    container, server = candidate.container, candidate.server
    fields = dict(reading.fields)
    fields["port"] = server_port(candidate, engine, fields.get("port"), notes)
    gpus = container.gpus if container else None
    # In a container CUDA's numbers count the GPUs that the runtime lets in.
    variables = reversed(GPU_VARIABLES) if container else GPU_VARIABLES
    gpus = gpus or next((candidate.env[name] for name in variables if candidate.env.get(name)), None)
    gpus = gpus or slurm_gpus(candidate.launcher_flags)
    nodes = slurm_nodes(candidate.launcher_flags)
    if nodes not in ("1", "1-1"):
        notes.add(
            notes.warnings, f"the Slurm job has {nodes} nodes: how many of their GPUs the server gets is not read"
        )
    version = _TAG_VERSION.search(container.image) if container and container.image else None
    _warn_of_gpus(gpus, fields, notes)
    return Config(
        **fields,
        engine=engine.name if engine else "other",
        engine_version=version[1] if version else None,
        launcher=candidate.launcher,
        image=container.image if container else None,
        executable=server.executable if server else None,
        gpus=gpus,
        env=dict(candidate.env),
        volumes=list(container.volumes) if container else [],
        unknown_flags=list(reading.unknown_flags),
        argv=tuple(candidate.argv),
    )


def server_port(candidate: Candidate, engine: Engine | None, port: int | None, notes: Notes) -> int | None:
    """Return the port for clients: the published one of a container, else the server's own, if stated."""
    container = candidate.container
    if not container or not container.ports or container.is_on_host_network:
        return port
    args = candidate.server.args if candidate.server else []
    is_unresolved = port is None and any(word.partition("=")[0] == "--port" for word in args)
    default = engine.default_port if engine and not is_unresolved else None
    published, misses = published_port(container.ports, port, default)
    if misses:
        notes.add(notes.warnings, f"no published port ({', '.join(container.ports)}) leads to the server")
    return published


def _warn_of_gpus(gpus: str | None, fields: Mapping[str, Any], notes: Notes) -> None:
    """Warn if the GPUs that are listed are not those that the ranks of tensor, pipeline and data parallel need."""
    tensor_parallel = fields.get("tensor_parallel")
    if not gpus or not tensor_parallel or not re.fullmatch(r"\d+(,\d+)+", gpus):
        return
    count = len(gpus.split(","))
    stages, replicas = fields.get("pipeline_parallel") or 1, fields.get("data_parallel") or 1
    # SGLang's data parallel attention shares the ranks of tensor parallel.
    if count in (tensor_parallel * stages, tensor_parallel * stages * replicas):
        return
    product = f" times pipeline parallel {stages}" if stages > 1 else ""
    notes.add(notes.warnings, f"{count} GPUs are listed ({gpus}) but tensor parallel is {tensor_parallel}{product}")


def _masked(explanation: Explanation, notes: Notes, secrets: set[str]) -> Explanation:
    """The explanation with its notes, every secret value masked."""
    known_values = distinctive(secrets)
    masked = {kind: [_mask(text, known_values) for text in texts] for kind, texts in vars(notes).items()}
    masked["left_out"] = [
        shorten(text) for text in masked["left_out"]
    ]  # after masking, because half a secret is not recognised
    refused = explanation.refused and mask_text(explanation.refused, known_values)
    return explanation.model_copy(update={**masked, "refused": refused})


def shorten(text: str) -> str:
    """The text, cut to LONGEST_NOTE characters."""
    return text if len(text) <= MAX_NOTE else text[:MAX_NOTE] + " …"


def _mask(text: str, known_values: list[str]) -> str:
    tail = text.partition("=")[2] or text
    if tail.startswith("$") and is_reference(tail):
        return text
    return mask_text(" ".join(mask_argv(text.split(" "), known_values)), known_values)
