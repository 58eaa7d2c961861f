"""What a run served, in the terms by which repeats are found: settings in effect, model files, version, GPUs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.config_diff import flatten
from analysis.comparison.facts import Served
from analysis.guard.configuration import SAMPLING
from analysis.guard.gpu_limits import DRIVER, LIMITS, NUMBERS, POWER
from analysis.runs.conditions import Conditions
from analysis.runs.effective import Row
from domain import Config, JsonValue, Run
from engines import BY_NAME
from engines.flag_table import words_of_flag

# Where a server listens, how its command is spelled and what stands in a column of its own make no other configuration.
NOT_SETTINGS = frozenset(
    {"argv", "host", "port", "served_model_name", "engine", "engine_version", "model", "image", "executable"}
    | {"launcher", "gpus", "env", "volumes", "unknown_flags"}
)
# Told by a log and decided by the configuration, though Config has no field of it.
ALSO_SETTINGS = ("attention_backend",)
INDEX_ONLY = re.compile(r"(CUDA|HIP|ROCR|NVIDIA)_VISIBLE_DEVICES|.*PORT")
ADDRESS_FLAG = re.compile(r"--?(?:[a-z-]*port|host|name|cidfile)(?P<value>=.*)?$")
CACHE = re.compile(r"cache|/tmp(?:/|$)|/dev/", re.IGNORECASE)
FIELDS = frozenset(Config.model_fields)


def served_by(run: Run, effective: Sequence[Row], conditions: Sequence[Conditions]) -> Served:
    """What is known of it; `effective` is what was asked beside what the server's log says."""
    config, provenance = run.config, run.provenance or {}
    logged = {row.field: row.effective for row in effective if row.effective is not None}
    return Served(
        engine=config.engine,
        machine_id=run.machine_id,
        model=config.model or logged.get("model"),
        model_files=model_files(provenance),
        engine_version=engine_version(run),
        image=config.image,
        gpus=gpus_of(provenance, conditions),
        settings=settings_of(config, effective),
        command=command_of(config.argv),
        is_configuration_known=bool(config.argv or logged),
        gpu_limits=gpu_limits_of(provenance, conditions),
    )


def speculates(run: Run, effective: Sequence[Row]) -> bool | None:
    """Whether its server drafts; None where neither a command nor a log says."""
    drafting = [
        row.effective for row in effective if row.field.startswith("speculative.") and row.effective is not None
    ]
    if run.config.speculative is not None or (run.told or {}).get("speculative_method") or any(drafting):
        return True
    return False if run.config.argv and run.config.engine != "other" else None


def settings_of(config: Config, effective: Sequence[Row]) -> dict[str, JsonValue]:
    """Dotted settings, in effect where the log says so and as asked where not; what only names a place is left out."""
    asked = flatten(config.model_dump(mode="json", exclude=set(NOT_SETTINGS)))
    logged = {row.field: row.effective for row in effective if row.effective is not None and _is_setting(row.field)}
    env = {_env_setting(config, k): v for k, v in config.env.items() if not INDEX_ONLY.fullmatch(k)}
    mounts = sorted(volume for volume in config.volumes if not CACHE.search(volume))
    flags = {key: value for text in config.unknown_flags for key, value in _flag_settings(config, text).items()}
    own = {"command": " ".join(command_of(config.argv))} if config.argv and not is_read(config) else {}
    return asked | logged | env | flags | own | ({"volumes": " ".join(mounts)} if mounts else {})


def _env_setting(config: Config, name: str) -> str:
    """What a variable sets; one that stands for a flag of sampling has that flag's name."""
    engine = BY_NAME.get(config.engine)
    sampling = engine.sampling_variable(name) if engine else None
    return f"env.{name}" if sampling is None else f"{SAMPLING}{sampling.lstrip('-')}"


def _flag_settings(config: Config, text: str) -> dict[str, JsonValue]:
    """What a flag says that Config has no field of. Sampling stands under one prefix, however the flag is spelled."""
    flag, *value = words_of_flag(text)
    name, _, glued = flag.partition("=")
    said = glued or " ".join(value) or "set"
    engine = BY_NAME.get(config.engine)
    sampling = engine.sampling_flag(name) if engine else None
    if sampling is None:
        return {flag: " ".join(value) or "set"}
    inner = name.partition(".")[2]  # --override-generation-config.temperature
    fields = None if inner else _object_in(said)
    if fields is None:
        return {f"{SAMPLING}{inner or sampling.lstrip('-')}": said}
    return {f"{SAMPLING}{key}": one for key, one in fields.items()}


def _object_in(text: str) -> dict[str, JsonValue] | None:
    """The JSON object that a flag's value is; None where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_read(config: Config) -> bool:
    """Whether the command was understood; the words of one that was not are all that distinguishes it from the next."""
    return config.engine != "other" and config.model is not None


def _is_setting(field: str) -> bool:
    name = field.partition(".")[0]
    return (name in FIELDS and name not in NOT_SETTINGS) or name in ALSO_SETTINGS


def command_of(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without the address that the server was given."""
    kept: list[str] = []
    is_value = False
    for word in argv:
        found = ADDRESS_FLAG.match(word)
        if found is None and not is_value:
            kept.append(word)
        is_value = found is not None and found["value"] is None
    return tuple(kept)


def model_files(provenance: Mapping[str, Any]) -> str | None:
    """One hash over those of the files that name shape and weights; None where one of them is not known."""
    files = (provenance.get("model") or {}).get("files") or {}
    hashes = {name: hashed.get("sha256") or hashed.get("sha256_of_first_mib") for name, hashed in files.items()}
    if not hashes or None in hashes.values():
        return None
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def engine_version(run: Run) -> str | None:
    """As its log says it, else its configuration, else the package beside the executable ('vllm 0.33.0')."""
    package = str((run.provenance or {}).get("package") or "").partition(" ")[2]
    said = (run.told or {}).get("engine_version") or run.config.engine_version or package
    return str(said) if said else None


def gpus_of(provenance: Mapping[str, Any], conditions: Sequence[Conditions]) -> tuple[str, ...] | None:
    """Names of its GPUs as they were sampled, else as frozen at its start; empty: the machine has none."""
    sampled = next((one.gpu_names for one in conditions if one.gpu_names), None)
    if sampled:
        return tuple(sorted(sampled))
    if "gpus" not in provenance:
        return None
    return tuple(sorted(str(gpu.get("name")) for gpu in provenance["gpus"]))


def _limit(name: str, value: JsonValue) -> float | bool | None:
    """A bundle's run may say anything of its GPUs: what is no limit is not shown."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return value if is_number and isinstance(value, bool) != (name in NUMBERS) else None


def gpu_limits_of(provenance: Mapping[str, Any], conditions: Sequence[Conditions]) -> dict[str, tuple[JsonValue, ...]]:
    """What bounds its GPUs, each value once: the power limit as sampled under its loads, the rest as frozen.

    A name that is missing was not looked at; a value of None is what the driver did not report.
    """
    own = {uuid for one in conditions for uuid in one.gpu_uuids}
    frozen = [gpu for gpu in provenance.get("gpus") or () if not own or gpu.get("uuid") in own]
    by_name: dict[str, set[Any]] = {name: {_limit(name, gpu[name]) for gpu in frozen if name in gpu} for name in LIMITS}
    driver = provenance.get("driver_version")
    if frozen and driver and isinstance(driver, str):
        by_name[DRIVER] = {driver}
    sampled = [one.power_limits_w for one in conditions if one.power_limits_w is not None]
    if sampled:
        by_name[POWER] = {watts for limits in sampled for watts in limits}
    return {name: tuple(sorted(values, key=str)) for name, values in by_name.items() if values}
