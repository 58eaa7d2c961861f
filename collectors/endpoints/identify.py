"""Identifies the server at an address: engine, version, models, and the endpoints it offers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from collectors.endpoints.exposition import has_prefix
from domain import OTHER_ENGINE, JsonValue
from engines import ENGINES
from engines.base import Engine
from engines.routed_models import (
    LLAMA_SWAP,
    RUNNING_PATH,
    RoutedModel,
    models_of_llama_swap,
    models_of_llamacpp_router,
)
from errors import PitwallError
from machine.bounded_http import BadAnswerError, BoundedHttp, HttpAnswer, NoAnswerError, NoAnswerInTimeError, ReadLimits

SILENCE_S = 3.0
LIMITS = ReadLimits(body_bytes=16 << 20, total_s=5.0)
OWNERS = {engine.owned_by: engine for engine in ENGINES if engine.owned_by}


class NotServingError(PitwallError):
    """No usable server at this address; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The server at `base_url`; `engine` is 'other' for an OpenAI-compatible server of an unknown engine.

    routed_models: the models behind it, if it is a router that starts servers of its own.
    """

    base_url: str
    engine: str
    version: str | None
    models: tuple[str, ...]
    max_model_len: int | None
    has_metrics: bool
    has_slots: bool
    routed_models: tuple[RoutedModel, ...] = ()


def normal_base_url(text: str) -> str:
    """Normalize 'localhost:8000/v1/' to 'http://localhost:8000'; raises NotServingError if it is not an address."""
    url = text.strip()
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if parts.username or parts.password:
        raise NotServingError("an address with a user name or password is not accepted")
    if not is_valid or parts.query:
        raise NotServingError(f"{url or 'nothing'} is not an address like http://host:8000")
    path = parts.path.rstrip("/").removesuffix("/models").removesuffix("/chat/completions").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"


def identify(address: str, silence_s: float = SILENCE_S) -> Identity:
    """Identify the server with a few GET requests; raises NotServingError."""
    base_url = normal_base_url(address)
    with closing(BoundedHttp(base_url, connect_s=silence_s, silence_s=silence_s)) as client:
        models = _models(client, base_url)
        if routed_models := _routed_models(client, models):
            return Identity(base_url, OTHER_ENGINE, None, _model_names(models), None, False, False, routed_models)
        metrics = _get(client, "/metrics")
        engine = _engine_by_metrics(metrics) or _engine_by_owner(models) or _engine_by_version(client)
        slots = (
            _get(client, engine.slots_path) if engine and engine.slots_path and not _sleeps(client, engine) else None
        )
        return Identity(
            base_url=base_url,
            engine=engine.name if engine else OTHER_ENGINE,
            version=_version(client, engine) if engine else None,
            models=_model_names(models),
            max_model_len=_max_model_len(models),
            has_metrics=metrics is not None and _engine_by_metrics(metrics) is not None,
            has_slots=slots is not None,
        )


def _routed_models(client: BoundedHttp, models: list[dict[str, Any]]) -> tuple[RoutedModel, ...]:
    """Return the models behind a router; nothing that is asked here loads one or keeps one loaded."""
    if any(model.get("owned_by") == LLAMA_SWAP for model in models):
        running = _get(client, RUNNING_PATH)
        return models_of_llama_swap(_json(running) if running else None, models)
    return models_of_llamacpp_router(models)


def _sleeps(client: BoundedHttp, engine: Engine) -> bool:
    """Whether the server has unloaded its model because it was idle; a read of its slots would wake it."""
    if engine.sleeping_path is None:
        return False
    path, key = engine.sleeping_path
    answer = _get(client, path)
    content = _json(answer) if answer is not None else None
    return isinstance(content, dict) and content.get(key) is True


def _model_names(models: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(model["id"] for model in models if isinstance(model.get("id"), str))


def _models(client: BoundedHttp, base_url: str) -> list[dict[str, Any]]:
    try:
        answer = client.get("/v1/models", LIMITS)
    except NoAnswerInTimeError:
        raise NotServingError(f"no answer in time from {base_url}") from None
    except NoAnswerError as problem:
        raise NotServingError(f"no answer from {base_url}: {problem}") from None
    except BadAnswerError as problem:
        raise NotServingError(f"{base_url} is not an OpenAI-compatible server: {problem}") from None
    if answer.status_code in (401, 403):
        raise NotServingError(f"{base_url} requires an API key, which Pitwall does not have")
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        raise NotServingError(f"{base_url} is not ready yet: it answers 503")
    content = _json(answer)
    model_list = content.get("data") if isinstance(content, dict) else None
    if not answer.is_ok or not isinstance(model_list, list):
        description = "no list of models" if answer.is_ok else answer.status_code
        raise NotServingError(f"{base_url} is not an OpenAI-compatible server: /v1/models returned {description}")
    return [model for model in model_list if isinstance(model, dict)]


def _get(client: BoundedHttp, path: str) -> HttpAnswer | None:
    try:
        answer = client.get(path, LIMITS)
    except (NoAnswerError, BadAnswerError):
        return None
    return answer if answer.is_ok else None


def _json(answer: HttpAnswer) -> JsonValue:
    try:
        return answer.json()
    except ValueError:
        return None


def _engine_by_metrics(metrics: HttpAnswer | None) -> Engine | None:
    """Return the engine whose counters are exported."""
    if metrics is None:
        return None
    candidates = (e for e in ENGINES if e.counters and has_prefix(metrics.content, e.counters.METRIC_PREFIXES))
    return next(candidates, None)


def _engine_by_owner(models: list[dict[str, Any]]) -> Engine | None:
    """Return the engine that the model list names as the owner."""
    owners = (OWNERS.get(str(model.get("owned_by"))) for model in models)
    return next((engine for engine in owners if engine), None)


def _engine_by_version(client: BoundedHttp) -> Engine | None:
    """Return the engine that reports its version at a path of its own."""
    return next((engine for engine in ENGINES if engine.is_known_by_version and _version(client, engine)), None)


def _version(client: BoundedHttp, engine: Engine) -> str | None:
    for path, key in engine.version_paths:
        answer = _get(client, path)
        content = _json(answer) if answer is not None else None
        if isinstance(content, dict) and isinstance(content.get(key), str):
            return str(content[key])
    return None


def _max_model_len(models: list[dict[str, Any]]) -> int | None:
    """Return the context length that the server reports: vLLM's and SGLang's key, or llama.cpp's model description."""
    for model in models:
        meta = model.get("meta")
        context_tokens = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
        if isinstance(context_tokens, int):
            return context_tokens
    return None
