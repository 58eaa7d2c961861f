"""What a machine lacks for a configuration, said before the launch: tools, images, paths, GPUs and their memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from commands.expansion import expand_config
from commands.gpus import CONTAINER_LAUNCHERS
from commands.presets import Needs
from domain import Config, Run
from engines import BY_NAME
from launcher.checks.addresses import default_base_url
from launcher.checks.file_patterns import name_files, unmatched
from launcher.checks.preflight import (
    LaunchRefusedError,
    LaunchRequest,
    check_executable,
    check_model,
    check_port,
    in_full,
    is_there,
    port_of,
    several_words,
)
from launcher.processes.containers import TOOLS, Images
from launcher.runs.provenance import GpusNow

GIB = 2**30
_FILE = re.compile(r"(?:/|\./|\.\./)[^\s:,{}*?\[]*\.(?:json|jinja2?|ya?ml|txt|toml|gguf|grammar|gbnf)")


class Gpu(NamedTuple):
    """One GPU as its driver reports it; None where it does not."""

    name: str | None = None
    compute_capability: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None


class GpuFacts(NamedTuple):
    """The machine's GPUs, or why they are not known."""

    gpus: Sequence[Gpu] = ()
    reason: str | None = None


def gpu_facts(now: GpusNow) -> GpuFacts:
    """The GPUs as their driver reports them now."""
    return GpuFacts([Gpu(**{name: gpu.get(name) for name in Gpu._fields}) for gpu in now.gpus], now.reason)


def find_lacks(
    config: Config,
    needs: Needs,
    facts: GpuFacts,
    cwd: Path,
    live: Sequence[Run] = (),
    images: Images | None = None,
) -> list[str]:
    """One sentence for each reason for which the launch will fail; nothing is said where it cannot be known.

    `live` are Pitwall's own runs: the port of one that it launched is waited for in the queue. `images`: for who looks
    for doubts too, so that a runtime is asked once.
    """
    try:
        named = name_files(config, os.environ, cwd)
    except LaunchRefusedError as refusal:
        return [str(refusal)]
    return [*_software(named, cwd, images or Images()), *_port(config, live), *_gpus(config, needs, facts)]


def find_doubts(config: Config, needs: Needs, facts: GpuFacts, cwd: Path, images: Images | None = None) -> list[str]:
    """What may make the launch fail or wait, one sentence each."""
    named = config
    with suppress(LaunchRefusedError):  # that it matches too many files is shown as a lack
        named = name_files(config, os.environ, cwd)
    filled = expand_config(named, os.environ).config
    doubts = [*_memory(needs, facts), *_free_memory(config, facts)]
    if config.launcher in CONTAINER_LAUNCHERS:
        return [*_image(filled, images or Images()), *doubts]
    return [*_patterns(config, cwd), *_files(filled, cwd), *doubts]


def find_unknowns(config: Config, needs: Needs, facts: GpuFacts) -> list[str]:
    """What cannot be known before the start, one sentence each."""
    unknown = []
    if needs.gpu_count and needs.gpu_memory_gib is None:
        unknown.append("How much GPU memory it needs is not stated.")
    if needs.gpu_count and needs.compute_capability is None:
        unknown.append("Which GPU architectures it runs on is not stated.")
    if any(gpu.memory_total_bytes is None for gpu in facts.gpus):
        unknown.append("How much memory the GPU here has, its driver does not tell.")
    if config.launcher == "script":
        unknown.append("What the script itself needs is not known.")
    drafter = config.speculative.model if config.speculative else None
    for model in filter(is_hub_name, (config.model, drafter)):
        unknown.append(f"Whether {model} is on this machine is not looked up: the server downloads what it lacks.")
    return unknown


def is_hub_name(model: str | None) -> bool:
    """'organisation/name', and no path."""
    return bool(model and re.fullmatch(r"\w[\w.-]*/[\w.-]+(?<!\.gguf)", model))


def _software(config: Config, cwd: Path, images: Images) -> Iterator[str]:
    found = expand_config(config, os.environ)
    filled = found.config
    for name in found.missing:
        yield f"The command refers to ${name}, which is not set."
    yield from map(several_words, found.several)
    try:
        if filled.argv:
            check_executable(filled, cwd)
            check_model(LaunchRequest(filled), cwd)
            if config.launcher in CONTAINER_LAUNCHERS:
                yield from _container(filled, Path(filled.argv[0]).name, images)
    except LaunchRefusedError as refusal:
        yield str(refusal)


def _port(config: Config, live: Sequence[Run]) -> Iterator[str]:
    base_url = default_base_url(config)
    if base_url is None:
        return
    try:
        port = port_of(base_url)
        launched = {port_of(run.base_url) for run in live if run.kind == "launched" and run.base_url}
        if port not in launched:
            check_port(port, config.host, live)
    except LaunchRefusedError as refusal:
        yield str(refusal)


def _image(config: Config, images: Images) -> Iterator[str]:
    tool, passed = Path(config.argv[0]).name if config.argv else "", list[str]()
    if tool in TOOLS and config.image and images.has(tool, config.image, passed.append) is False:
        yield f"The image {config.image} is not on this machine: {tool} will try to pull it."
    yield from passed


def _patterns(config: Config, cwd: Path) -> Iterator[str]:
    """File patterns of a command that match nothing, but for the model's, without which it fails for certain."""
    for word, pattern in unmatched(config, os.environ, cwd):
        if word != config.model:
            yield f"No file matches {pattern}, which is passed on as it stands."


def _files(config: Config, cwd: Path) -> Iterator[str]:
    """Files that a command names beside its model: a chat template, a configuration."""
    for word in config.argv[1:]:
        path = word.rpartition("=")[2] if word.startswith("-") else word
        if _FILE.fullmatch(path) and path != config.model and not is_there(cwd / path):
            yield f"The command names the file {path}, which does not exist."


def _container(config: Config, tool: str, images: Images) -> Iterator[str]:
    passed = list[str]()  # is shown as a doubt
    if config.image and images.has(tool, config.image, passed.append) is None and not passed:
        yield f"{tool} does not answer: is its service running, and may this user speak to it?"
    volumes = [volume.split(":") for volume in config.volumes]
    given = {parts[1]: in_full(parts[0]) for parts in volumes if len(parts) > 1 and parts[0][:1] in "/~."}
    for inside, outside in given.items():
        if not is_there(outside):
            yield f"The folder {outside}, which the container is to see as {inside}, does not exist."
    drafter = config.speculative.model if config.speculative else None
    for model in (config.model, drafter):
        if model and model.startswith("/"):
            yield from _model_in(model, given, [parts[0] for parts in volumes if len(parts) == 1])


def _model_in(model: str, given: dict[str, Path], empty: Sequence[str]) -> Iterator[str]:
    for inside, outside in given.items():
        if model.startswith(inside.rstrip("/") + "/"):
            path = outside / model.removeprefix(inside).lstrip("/")
            if is_there(outside) and not is_there(path):
                yield f"The model {model} would be {path} on this machine, which does not exist."
            return
    for inside in empty:
        if model.startswith(inside.rstrip("/") + "/"):
            yield f"The volume {inside} names no folder of this machine: it starts empty, without the model {model}."


def _gpus(config: Config, needs: Needs, facts: GpuFacts) -> Iterator[str]:
    wanted = f"a GPU ({needs.gpu})" if needs.gpu else "a GPU"
    if not facts.gpus:
        if needs.gpu_count or config.gpus:
            yield f"It needs {wanted}, and here is none: {facts.reason or 'none was found'}."
        return
    if len(facts.gpus) < needs.gpu_count:
        yield f"It needs {needs.gpu_count} GPUs; here are {len(facts.gpus)}."
    best = max((_version(gpu.compute_capability) for gpu in facts.gpus if gpu.compute_capability), default=None)
    if needs.compute_capability and best and best < _version(needs.compute_capability):
        held = ".".join(map(str, best))
        yield f"It needs compute capability {needs.compute_capability} or newer; the GPU here has {held}."


def _memory(needs: Needs, facts: GpuFacts) -> Iterator[str]:
    totals = [gpu.memory_total_bytes for gpu in facts.gpus if gpu.memory_total_bytes is not None]
    if needs.gpu_memory_gib and totals and max(totals) < needs.gpu_memory_gib * GIB:
        yield f"It needs {needs.gpu_memory_gib:g} GiB of GPU memory; the GPU here has {max(totals) / GIB:.1f} GiB."


def _free_memory(config: Config, facts: GpuFacts) -> Iterator[str]:
    """Some engines refuse to start where less is free than the share of the whole memory that they are told to take."""
    engine, share = BY_NAME.get(config.engine), config.gpu_memory_fraction
    if engine is None or not engine.claims_memory_share or share is None or len(facts.gpus) != 1:
        return
    gpu = facts.gpus[0]
    if gpu.memory_total_bytes is None or gpu.memory_used_bytes is None:
        return
    free, asked = gpu.memory_total_bytes - gpu.memory_used_bytes, share * gpu.memory_total_bytes
    if free < asked:
        yield f"It asks for {asked / GIB:.1f} GiB of GPU memory ({share:g} of all); {free / GIB:.1f} GiB are free now."


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
