"""Differences between configurations, for display and for naming them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from analysis.comparison.model_names import weights_name

MOST_EXTRA_LABELS = 3
LONGEST_LABEL = 60  # characters
ADDRESS_ONLY = frozenset({"argv", "port", "host", "served_model_name"})  # no effect on serving


class SettingsDiff(NamedTuple):
    """Differences between configurations, as far as they are known."""

    rows: dict[str, list[Any]]  # field -> its value in each; None: not stated or unknown
    unknown: list[int]  # indexes of unknown configurations

    @property
    def is_same(self) -> bool:
        """Whether all configurations are known and equal; an unknown one never counts as equal."""
        return not self.rows and not self.unknown


def compare_settings(settings: Sequence[Mapping[str, Any]], unknown: Sequence[int]) -> SettingsDiff:
    """Compare flat settings; at the indexes in `unknown`, a missing value does not count as different."""
    keys = list(dict.fromkeys(key for config in settings for key in config))
    rows = {key: [config.get(key) for config in settings] for key in keys}
    differing = {
        key: values
        for key, values in rows.items()
        if _differ([v for index, v in enumerate(values) if v is not None or index not in unknown])
    }
    return SettingsDiff(differing, list(unknown))


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)


def differing_fields(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return field -> its value in each config, for fields that differ; nested names are dotted."""
    flat = [flatten(config) for config in configs]
    keys = list(dict.fromkeys(key for flat_config in flat for key in flat_config))
    rows = {
        key: [flat_config.get(key) for flat_config in flat] for key in keys if key.split(".")[0] not in ADDRESS_ONLY
    }
    return {key: values for key, values in rows.items() if _differ(values)}


def settings_key(config: Mapping[str, Any]) -> str | None:
    """Return a text that is equal for equal settings at any address; None if neither model nor command is stated."""
    if not (config.get("model") or config.get("argv")):
        return None
    settings = {key: value for key, value in flatten(config).items() if key.split(".")[0] not in ADDRESS_ONLY}
    if not config.get("model"):  # all that is known of it may stand in its command
        port = str(config.get("port") or "")
        settings["argv"] = [word.replace(port, "") if port else word for word in config["argv"]]
    return json.dumps(settings, sort_keys=True, default=str)


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings with dotted keys, without empty and absent values."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        elif value not in (None, [], (), ""):
            flat[prefix + key] = value
    return flat


def with_logged_facts(config: Mapping[str, Any], logged: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the configuration with unstated fields filled in from its server's log."""
    facts = logged or {}
    speculation = config.get("speculative") or {}
    logged_speculation = {"method": facts.get("speculative_method"), "num_tokens": facts.get("speculative_num_tokens")}
    is_logged = logged_speculation["method"] is not None
    return {
        **config,
        "engine_version": config.get("engine_version") or facts.get("engine_version"),
        "speculative": {
            **speculation,
            **{k: v for k, v in logged_speculation.items() if speculation.get(k) is None and v is not None},
        }
        if speculation or is_logged
        else None,
    }


def chips(config: Mapping[str, Any], engine_title: str) -> list[str]:
    """Return short labels of a configuration: 'vLLM 0.21', 'Qwen3-32B-NVFP4', 'KV fp8', 'mtp k=4', '262K'."""
    spec = config.get("speculative") or {}
    context = config.get("max_model_len")
    tp = config.get("tensor_parallel")
    labels = [
        f"{engine_title} {config['engine_version']}" if config.get("engine_version") else engine_title,
        weights_name(config["model"]) if config.get("model") else None,
        config.get("quantization"),
        f"KV {config['kv_cache_dtype']}" if config.get("kv_cache_dtype") else None,
        _speculation(spec),
        f"{context // 1024}K" if context and context >= 1024 else (f"{context} ctx" if context else None),
        f"TP {tp}" if tp and tp > 1 else None,
    ]
    return [str(label) for label in labels if label]


def distinct_chips(configs: Sequence[Mapping[str, Any]], engine_titles: Sequence[str]) -> list[list[str]]:
    """Return the labels of several configurations; unlike ones with equal labels get the fields that differ as well."""
    labels = [chips(config, title) for config, title in zip(configs, engine_titles, strict=True)]
    members_by_labels: dict[tuple[str, ...], list[int]] = {}
    for index, config_labels in enumerate(labels):
        members_by_labels.setdefault(tuple(config_labels), []).append(index)
    for members in members_by_labels.values():
        fields = differing_fields([configs[index] for index in members]) if len(members) > 1 else {}
        for field, values in sorted(fields.items())[:MOST_EXTRA_LABELS]:
            for index, value in zip(members, _without_common(values), strict=True):
                labels[index].append(_field_label(field, value))
    return labels


def _without_common(values: Sequence[Any]) -> list[Any]:
    """Return the values; of lists, such as flags, only the items that not all of them have."""
    lists = [value or [] for value in values]
    if not all(isinstance(value, list) for value in lists):
        return list(values)
    return [[item for item in value if any(item not in items for items in lists)] for value in lists]


def _field_label(field: str, value: Any) -> str:
    """'max_num_seqs 8', 'env.X unset', '--flag 1', 'no more unknown flags'."""
    if isinstance(value, list):
        text = " ".join(map(str, value)) or f"no more {field.replace('_', ' ')}"
    else:
        text = f"{field} {'unset' if value is None else value}"
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}\u2026"


def _speculation(spec: Mapping[str, Any]) -> str | None:
    if not spec:
        return None
    method = spec.get("method") or ("draft model" if spec.get("model") else "speculation")
    return f"{method} k={spec['num_tokens']}" if spec.get("num_tokens") else str(method)
