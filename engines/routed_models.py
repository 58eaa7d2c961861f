"""Models behind a router that starts servers of its own: llama.cpp's router and llama-swap.

A request to the router for a model that is not loaded loads it, and each request keeps it loaded. Each running model
has a server of its own, which can be watched without the router.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from domain import JsonValue

LLAMA_SWAP = "llama-swap"  # owner of the models in its /v1/models
RUNNING_PATH = "/running"  # of llama-swap: lists the running models, loads none
ROUTER_REFUSAL = b"model name is missing"  # llama.cpp's router to a request for /metrics or /slots without a model
_LOADED = ("loaded", "sleeping", "ready")


class RoutedModel(NamedTuple):
    """A model behind a router; state: in the router's words.

    base_url: the address of its own server, as the router's machine reaches it; None while it is not loaded.
    """

    name: str
    state: str
    base_url: str | None


def models_of_llamacpp_router(models: Sequence[Mapping[str, Any]]) -> tuple[RoutedModel, ...]:
    """Read the entries of /v1/models; empty unless they have the status that only llama.cpp's router states.

    Source of the format: llama.cpp, tools/server/README.md, 'Using multiple models'.
    """
    statuses = [(str(model.get("id")), model["status"]) for model in models if isinstance(model.get("status"), dict)]
    return tuple(_of_status(name, status) for name, status in statuses if isinstance(status.get("value"), str))


def _of_status(name: str, status: Mapping[str, Any]) -> RoutedModel:
    words = status.get("args")
    arguments = [str(word) for word in words] if isinstance(words, list) else []
    port = dict(pairwise(arguments)).get("--port", "")
    has_server = status["value"] in _LOADED and port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16
    return RoutedModel(name, status["value"], f"http://127.0.0.1:{port}" if has_server else None)


def models_of_llama_swap(running: JsonValue, models: Sequence[Mapping[str, Any]]) -> tuple[RoutedModel, ...]:
    """Read llama-swap's answer to /running, and /v1/models for the models that do not run."""
    entries = running.get("running") if isinstance(running, dict) else None
    states: dict[str, tuple[str, str | None]] = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("model"), str):
            state, proxy = str(entry.get("state")), entry.get("proxy")
            is_ready = (
                state in _LOADED
                and isinstance(proxy, str)
                and proxy.startswith(("http://", "https://"))
                and "@" not in proxy
            )
            states[entry["model"]] = state, str(proxy) if is_ready else None
    names = dict.fromkeys([*states, *(model["id"] for model in models if isinstance(model.get("id"), str))])
    return tuple(RoutedModel(name, *states.get(name, ("not running", None))) for name in names)
