"""What differs between configurations: only that is shown, and names are made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

ADDRESS_ONLY = frozenset({"argv", "port", "host", "served_model_name"})  # differ without the serving differing


class Comparison(NamedTuple):
    """How configurations differ, as far as they are known."""

    rows: dict[str, list[Any]]  # field -> its value in each; None: not stated, or not known
    unknown: list[int]  # the places of those of which no configuration is known

    @property
    def is_same(self) -> bool:
        """Whether all are known and none differs: nobody knows whether an unknown one is like another."""
        return not self.rows and not self.unknown


def compare_settings(settings: Sequence[Mapping[str, Any]], unknown: Sequence[int]) -> Comparison:
    """What differs between flat settings; at the places in `unknown`, what is not stated differs from nothing."""
    keys = list(dict.fromkeys(key for one in settings for key in one))
    rows = {key: [one.get(key) for one in settings] for key in keys}
    differing = {
        key: values
        for key, values in rows.items()
        if _differ([v for place, v in enumerate(values) if v is not None or place not in unknown])
    }
    return Comparison(differing, list(unknown))


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)


def differing_fields(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Field -> its value in each config, for the fields that are not equal in all; nested ones dotted."""
    flat = [flatten(config) for config in configs]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    rows = {key: [one.get(key) for one in flat] for key in keys if key.split(".")[0] not in ADDRESS_ONLY}
    return {key: values for key, values in rows.items() if _differ(values)}


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys; empty and absent values left out."""
    out: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            out.update(flatten(value, f"{prefix}{key}."))
        elif value not in (None, [], (), ""):
            out[prefix + key] = value
    return out


def as_started(config: Mapping[str, Any], logged: Mapping[str, Any] | None) -> dict[str, Any]:
    """The configuration as far as it is stated, what it does not state filled in from what its server's log says."""
    said = logged or {}
    stated = config.get("speculative") or {}
    drafting = {"method": said.get("speculative_method"), "num_tokens": said.get("speculative_num_tokens")}
    is_known = drafting["method"] is not None
    return {
        **config,
        "engine_version": config.get("engine_version") or said.get("engine_version"),
        "speculative": {**stated, **{k: v for k, v in drafting.items() if stated.get(k) is None and v is not None}}
        if stated or is_known
        else None,
    }


def chips(config: Mapping[str, Any], engine_title: str) -> list[str]:
    """The few words that tell a configuration apart at a glance: 'vLLM 0.21', 'NVFP4', 'KV fp8', 'mtp k=4', '262K'."""
    spec = config.get("speculative") or {}
    context = config.get("max_model_len")
    tp = config.get("tensor_parallel")
    words = [
        f"{engine_title} {config['engine_version']}" if config.get("engine_version") else engine_title,
        config.get("quantization"),
        f"KV {config['kv_cache_dtype']}" if config.get("kv_cache_dtype") else None,
        _speculation(spec),
        f"{context // 1024}K" if context and context >= 1024 else (f"{context} ctx" if context else None),
        f"TP {tp}" if tp and tp > 1 else None,
    ]
    return [str(word) for word in words if word]


def _speculation(spec: Mapping[str, Any]) -> str | None:
    if not spec:
        return None
    method = spec.get("method") or ("draft model" if spec.get("model") else "speculation")
    return f"{method} k={spec['num_tokens']}" if spec.get("num_tokens") else str(method)
