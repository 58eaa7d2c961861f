"""Requirements of a configuration that a machine may lack: tools, images, paths, GPUs and their memory."""

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
from engines.forced_acceptance import forced_sentence
from launcher.checks.addresses import default_base_url
from launcher.checks.file_patterns import resolve_patterns, unmatched_patterns
from launcher.checks.launch_request import LaunchRefusedError, port_of
from launcher.checks.model_folder import containing_mount, mounted_folders, path_outside
from launcher.checks.preflight import check_executable, check_model, check_port, path_exists
from launcher.checks.prepared_launch import explain_several_words
from launcher.checks.provenance import GpuSnapshot
from launcher.processes.containers import TOOLS, ImageLookup

GIB = 2**30
_FILE = re.compile(r"(?:/|\./|\.\./)[^\s:,{}*?\[]*\.(?:json|jinja2?|ya?ml|txt|toml|gguf|grammar|gbnf)")


class Gpu(NamedTuple):
    """One GPU as its driver reports it; None: not reported."""

    name: str | None = None
    compute_capability: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None


class GpuFacts(NamedTuple):
    """The machine's GPUs, or why they are unknown."""

    gpus: Sequence[Gpu] = ()
    reason: str | None = None


def gpu_facts(snapshot: GpuSnapshot) -> GpuFacts:
    """Return the GPUs as their driver reports them now."""
    return GpuFacts([Gpu(**{name: gpu.get(name) for name in Gpu._fields}) for gpu in snapshot.gpus], snapshot.reason)


def find_lacks(
    config: Config,
    needs: Needs,
    facts: GpuFacts,
    cwd: Path,
    live: Sequence[Run] = (),
    images: ImageLookup | None = None,
) -> list[str]:
    """Return one sentence for each reason why the launch will fail; unknowns are not reported.

    `live`: Pitwall's live runs; the port of a launched one is no reason, because the queue waits for it. `images`:
    shared with find_doubts, so that each runtime is queried once.
    """
    try:
        resolved = resolve_patterns(config, os.environ, cwd)
    except LaunchRefusedError as refusal:
        return [str(refusal)]
    return [*_software(resolved, cwd, images or ImageLookup()), *_port(config, live), *_gpus(config, needs, facts)]


def find_doubts(
    config: Config, needs: Needs, facts: GpuFacts, cwd: Path, images: ImageLookup | None = None
) -> list[str]:
    """Return one sentence for each reason why the launch may fail or wait."""
    resolved = config
    with suppress(LaunchRefusedError):  # find_lacks reports too many matches
        resolved = resolve_patterns(config, os.environ, cwd)
    expanded = expand_config(resolved, os.environ).config
    doubts = [*_forced_acceptance(expanded), *_memory(needs, facts), *_free_memory(config, facts)]
    if config.launcher in CONTAINER_LAUNCHERS:
        return [*_image(expanded, images or ImageLookup()), *doubts]
    return [*_patterns(config, cwd), *_missing_files(expanded, cwd), *doubts]


def find_unknowns(config: Config, needs: Needs, facts: GpuFacts) -> list[str]:
    """Return one sentence for each requirement that cannot be known before the start."""
    unknown = []
    if needs.gpu_count and needs.gpu_memory_gib is None:
        unknown.append("The preset does not state how much GPU memory it needs.")
    if needs.gpu_count and needs.compute_capability is None:
        unknown.append("The preset does not state on which GPU architectures it runs.")
    if any(gpu.memory_total_bytes is None for gpu in facts.gpus):
        unknown.append("The driver does not report how much memory the GPU has.")
    if config.launcher == "script":
        unknown.append("The script's own requirements are unknown.")
    drafter = config.speculative.model if config.speculative else None
    for model in filter(is_hub_name, (config.model, drafter)):
        unknown.append(
            f"Pitwall does not check whether {model} is on this machine: the server downloads missing files."
        )
    return unknown


def is_hub_name(model: str | None) -> bool:
    """Whether the text is a hub name, 'organisation/name', and not a path."""
    return bool(model and re.fullmatch(r"\w[\w.-]*/[\w.-]+(?<!\.gguf)", model))


def _forced_acceptance(config: Config) -> Iterator[str]:
    """Yield what a switch means that this machine's environment or the configuration sets."""
    engine = BY_NAME.get(config.engine)
    if engine is None or engine.forced_acceptance is None:
        return
    inherited = {} if config.image else os.environ
    if switch := engine.forced_acceptance(config.model_copy(update={"env": {**inherited, **config.env}})):
        yield forced_sentence(switch)


def _software(config: Config, cwd: Path, images: ImageLookup) -> Iterator[str]:
    expansion = expand_config(config, os.environ)
    expanded = expansion.config
    for name in expansion.missing:
        yield f"The command refers to ${name}, which is not set."
    yield from map(explain_several_words, expansion.multi_word_names)
    try:
        if expanded.argv:
            check_executable(expanded, cwd)
            check_model(expanded, cwd, {})
            if config.launcher in CONTAINER_LAUNCHERS:
                yield from _container(expanded, Path(expanded.argv[0]).name, images)
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


def _image(config: Config, images: ImageLookup) -> Iterator[str]:
    tool, limits = Path(config.argv[0]).name if config.argv else "", list[str]()
    if tool in TOOLS and config.image and images.has(tool, config.image, limits.append) is False:
        yield f"The image {config.image} is not on this machine: {tool} will try to pull it."
    yield from limits


def _patterns(config: Config, cwd: Path) -> Iterator[str]:
    """Yield doubts about file patterns that match nothing; one for the model is reported by find_lacks."""
    for word, pattern in unmatched_patterns(config, os.environ, cwd):
        if word != config.model:
            yield f"No file matches {pattern}; it is passed on unchanged."


def _missing_files(config: Config, cwd: Path) -> Iterator[str]:
    """Yield doubts about missing files other than the model: a chat template, a configuration."""
    for word in config.argv[1:]:
        path = word.rpartition("=")[2] if word.startswith("-") else word
        if _FILE.fullmatch(path) and path != config.model and not path_exists(cwd / path):
            yield f"The command names the file {path}, which does not exist."


def _container(config: Config, tool: str, images: ImageLookup) -> Iterator[str]:
    limits = list[str]()  # find_doubts reports them
    if config.image and images.has(tool, config.image, limits.append) is None and not limits:
        yield f"{tool} does not answer. Is its service running, and may this user access it?"
    mounts = mounted_folders(config.volumes)
    anonymous_volumes = [volume for volume in config.volumes if ":" not in volume]
    for inside, outside in mounts.items():
        if not path_exists(outside):
            yield f"The folder {outside}, to be mounted in the container as {inside}, does not exist."
    drafter = config.speculative.model if config.speculative else None
    for model in (config.model, drafter):
        if model and model.startswith("/"):
            yield from _model_in(model, mounts, anonymous_volumes)


def _model_in(model: str, mounts: dict[str, Path], anonymous_volumes: Sequence[str]) -> Iterator[str]:
    mount, path = containing_mount(model, mounts), path_outside(model, mounts)
    if mount is not None and path is not None:
        if path_exists(mounts[mount]) and not path_exists(path):
            yield f"The model {model} would be {path} on this machine, which does not exist."
        return
    for inside in anonymous_volumes:
        if model.startswith(inside.rstrip("/") + "/"):
            volume = f"The volume {inside} is not backed by a folder on this machine"
            yield f"{volume}: it starts empty, without the model {model}."


def _gpus(config: Config, needs: Needs, facts: GpuFacts) -> Iterator[str]:
    description = f"a GPU ({needs.gpu})" if needs.gpu else "a GPU"
    if not facts.gpus:
        if needs.gpu_count or config.gpus:
            yield f"It needs {description}, but there is none here: {facts.reason or 'none was found'}."
        return
    if len(facts.gpus) < needs.gpu_count:
        yield f"It needs {needs.gpu_count} GPUs; there are {len(facts.gpus)} here."
    best = max((_version(gpu.compute_capability) for gpu in facts.gpus if gpu.compute_capability), default=None)
    if needs.compute_capability and best and best < _version(needs.compute_capability):
        newest = ".".join(map(str, best))
        yield f"It needs compute capability {needs.compute_capability} or newer; the GPU here has {newest}."


def _memory(needs: Needs, facts: GpuFacts) -> Iterator[str]:
    totals = [gpu.memory_total_bytes for gpu in facts.gpus if gpu.memory_total_bytes is not None]
    if needs.gpu_memory_gib and totals and max(totals) < needs.gpu_memory_gib * GIB:
        yield f"It needs {needs.gpu_memory_gib:g} GiB of GPU memory; the GPU here has {max(totals) / GIB:.1f} GiB."


def _free_memory(config: Config, facts: GpuFacts) -> Iterator[str]:
    """Yield a doubt for engines that refuse to start if less memory is free than the configured share of the total."""
    engine, share = BY_NAME.get(config.engine), config.gpu_memory_fraction
    if engine is None or not engine.claims_memory_share or share is None or len(facts.gpus) != 1:
        return
    gpu = facts.gpus[0]
    if gpu.memory_total_bytes is None or gpu.memory_used_bytes is None:
        return
    free, requested = gpu.memory_total_bytes - gpu.memory_used_bytes, share * gpu.memory_total_bytes
    if free < requested:
        demand = f"It asks for {requested / GIB:.1f} GiB of GPU memory ({share:g} of all)"
        yield f"{demand}; {free / GIB:.1f} GiB are free now."


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("."))
