"""Server setup of a run, by which repeats are found: effective settings, model files, version, GPUs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.config_diff import flatten
from analysis.comparison.facts import ServerSetup
from analysis.guard.configuration import SAMPLING
from analysis.guard.gpu_limits import DRIVER, LIMITS, NUMBERS, POWER
from analysis.runs.conditions import Conditions
from analysis.runs.effective_config import EffectiveRow
from domain import OTHER_ENGINE, Config, JsonValue, Run
from engines import BY_NAME
from engines.default_sampling import FACT as DEFAULT_SAMPLING
from engines.flag_table import words_of_flag
from engines.neutral_settings import is_neutral_variable
from reports.runs.forced_acceptance import forced_acceptance_of
from reports.runs.run_report import stated_engine

# Addresses, the spelling of the command, and values with a column of their own do not distinguish configurations.
NOT_SETTINGS = frozenset(
    {"argv", "host", "port", "served_model_name", "engine", "engine_version", "model", "image", "executable"}
    | {"launcher", "gpus", "env", "volumes", "unknown_flags"}
)
# Logged, and decided by the configuration, though Config has no field for it.
ALSO_SETTINGS = ("attention_backend",)
INDEX_ONLY = re.compile(r"(CUDA|HIP|ROCR|NVIDIA)_VISIBLE_DEVICES|.*PORT")
ADDRESS_FLAG = re.compile(r"--?(?:[a-z-]*port|host|name|cidfile)(?P<value>=.*)?$")
CACHE = re.compile(r"cache|/tmp(?:/|$)|/dev/", re.IGNORECASE)
FIELDS = frozenset(Config.model_fields)


def served_by(run: Run, effective: Sequence[EffectiveRow], conditions: Sequence[Conditions]) -> ServerSetup:
    """Return the run's server setup. effective: requested values beside those of the server's log."""
    config, provenance = run.config, run.provenance or {}
    logged_values = {row.field: row.effective for row in effective if row.effective is not None}
    return ServerSetup(
        engine=stated_engine(run),
        machine_id=run.machine_id,
        model=config.model or logged_values.get("model"),
        model_files=model_files(provenance),
        engine_version=engine_version(run),
        image=config.image,
        gpus=gpus_of(provenance, conditions),
        settings=settings_of(config, effective),
        command=command_of(config.argv),
        is_configuration_known=bool(config.argv or logged_values),
        weights_gib=_logged_number(logged_values, "model_load_gib", "model_load_gb"),  # early versions wrote GB for GiB
        kv_cache_tokens=int(tokens) if (tokens := _logged_number(logged_values, "kv_cache_tokens")) else None,
        forced_acceptance=forced_acceptance_of(run, effective),
        gpu_limits=gpu_limits_of(provenance, conditions),
    )


def _logged_number(logged_values: Mapping[str, Any], *names: str) -> float | None:
    """Return the first of these facts that is a positive number."""
    values = (logged_values.get(name) for name in names)
    return next((value for value in values if isinstance(value, int | float) and value > 0), None)


def speculates(run: Run, effective: Sequence[EffectiveRow]) -> bool | None:
    """Whether its server speculates; None if neither a command nor a log says."""
    drafting = [
        row.effective for row in effective if row.field.startswith("speculative.") and row.effective is not None
    ]
    if run.config.speculative is not None or (run.logged_facts or {}).get("speculative_method") or any(drafting):
        return True
    return False if run.config.argv and run.config.engine != OTHER_ENGINE else None


def settings_of(config: Config, effective: Sequence[EffectiveRow]) -> dict[str, JsonValue]:
    """Return dotted settings: effective values from the log, else requested ones; addresses and paths are left out."""
    requested = flatten(config.model_dump(mode="json", exclude=set(NOT_SETTINGS)))
    logged_values = {
        row.field: row.effective for row in effective if row.effective is not None and _is_setting(row.field)
    }
    env = {_env_setting(config, k): v for k, v in config.env.items() if not _is_neutral_variable(config, k)}
    mounts = sorted(volume for volume in config.volumes if not CACHE.search(volume))
    flags = {key: value for text in config.unknown_flags for key, value in _flag_settings(config, text).items()}
    defaults = next((row.effective for row in effective if row.field == DEFAULT_SAMPLING), None)
    sampling = {f"{SAMPLING}{name}": v for name, v in defaults.items()} if isinstance(defaults, Mapping) else {}
    command = {"command": " ".join(command_of(config.argv))} if config.argv and not is_read(config) else {}
    return (
        requested | logged_values | env | flags | sampling | command | ({"volumes": " ".join(mounts)} if mounts else {})
    )


def _is_neutral_variable(config: Config, name: str) -> bool:
    engine = BY_NAME.get(config.engine)
    is_engines = engine is not None and engine.is_neutral_variable(name)
    return is_engines or is_neutral_variable(name) or INDEX_ONLY.fullmatch(name) is not None


def _env_setting(config: Config, name: str) -> str:
    """Return the setting's name for an environment variable; a sampling variable gets its flag's name."""
    engine = BY_NAME.get(config.engine)
    sampling = engine.sampling_variable(name) if engine else None
    return f"env.{name}" if sampling is None else f"{SAMPLING}{sampling.lstrip('-')}"


def _flag_settings(config: Config, text: str) -> dict[str, JsonValue]:
    """Parse a flag that Config has no field for. Sampling flags share one prefix, however they are spelled."""
    flag, *value = words_of_flag(text)
    name, _, glued = flag.partition("=")
    setting_value = glued or " ".join(value) or "set"
    engine = BY_NAME.get(config.engine)
    sampling = engine.sampling_flag(name) if engine else None
    if sampling is None:
        is_neutral = engine is not None and engine.is_neutral_flag(name)
        return {} if is_neutral else {flag: " ".join(value) or "set"}
    inner = name.partition(".")[2]  # --override-generation-config.temperature
    fields = None if inner else _object_in(setting_value)
    if fields is None:
        return {f"{SAMPLING}{inner or sampling.lstrip('-')}": setting_value}
    return {f"{SAMPLING}{key}": field_value for key, field_value in fields.items()}


def _object_in(text: str) -> dict[str, JsonValue] | None:
    """Return the JSON object in a flag's value; None if it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_read(config: Config) -> bool:
    """Whether the command was understood; if not, only its words distinguish it from others."""
    return config.engine != OTHER_ENGINE and config.model is not None


def _is_setting(field: str) -> bool:
    name = field.partition(".")[0]
    return (name in FIELDS and name not in NOT_SETTINGS) or name in ALSO_SETTINGS


def command_of(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without the server's address."""
    words: list[str] = []
    is_value = False
    for word in argv:
        address = ADDRESS_FLAG.match(word)
        if address is None and not is_value:
            words.append(word)
        is_value = address is not None and address["value"] is None
    return tuple(words)


def model_files(provenance: Mapping[str, Any]) -> str | None:
    """Return one hash over the weights and the configuration files; None if one of them is unknown.

    Equal configuration files alone show nothing: two quantizations of one model may share them. The name of a single
    weight file does not count.
    """
    model = provenance.get("model") or {}
    weights, files = model.get("weights"), model.get("files") or {}
    hashes = {name: hashed.get("sha256") for name, hashed in files.items()}
    if not weights or None in hashes.values():
        return None
    identity_json = json.dumps([weights, hashes], sort_keys=True)
    return hashlib.sha256(identity_json.encode()).hexdigest()[:16]


def engine_version(run: Run) -> str | None:
    """Return the version from its log, else its configuration, else the package of the executable ('vllm 0.33.0')."""
    package = str((run.provenance or {}).get("package") or "").partition(" ")[2]
    version = (run.logged_facts or {}).get("engine_version") or run.config.engine_version or package
    return str(version) if version else None


def gpus_of(provenance: Mapping[str, Any], conditions: Sequence[Conditions]) -> tuple[str, ...] | None:
    """Return the names of its GPUs as sampled, else as recorded at the start; empty: the machine has none."""
    sampled = next((condition.gpu_names for condition in conditions if condition.gpu_names), None)
    if sampled:
        return tuple(sorted(sampled))
    if "gpus" not in provenance:
        return None
    return tuple(sorted(str(gpu.get("name")) for gpu in provenance["gpus"]))


def _limit(name: str, value: JsonValue) -> float | bool | None:
    """Return the value if it is a valid limit; provenance from a bundle may contain anything."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return value if is_number and isinstance(value, bool) != (name in NUMBERS) else None


def gpu_limits_of(provenance: Mapping[str, Any], conditions: Sequence[Conditions]) -> dict[str, tuple[JsonValue, ...]]:
    """Return the distinct limits of its GPUs: the power limit as sampled under load, the others as recorded at start.

    A missing name was not read; a value of None was not reported by the driver.
    """
    own_uuids = {uuid for condition in conditions for uuid in condition.gpu_uuids}
    frozen = [gpu for gpu in provenance.get("gpus") or () if not own_uuids or gpu.get("uuid") in own_uuids]
    by_name: dict[str, set[Any]] = {name: {_limit(name, gpu[name]) for gpu in frozen if name in gpu} for name in LIMITS}
    driver = provenance.get("driver_version")
    if frozen and driver and isinstance(driver, str):
        by_name[DRIVER] = {driver}
    sampled = [condition.power_limits_w for condition in conditions if condition.power_limits_w is not None]
    if sampled:
        by_name[POWER] = {watts for limits in sampled for watts in limits}
    return {name: tuple(sorted(values, key=str)) for name, values in by_name.items() if values}
