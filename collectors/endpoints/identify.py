"""Identifies the server at an address: engine, version, models, and what can be watched there."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from collectors.endpoints.exposition import has_prefix
from domain import JsonValue
from engines import ENGINES
from engines.base import Engine
from errors import PitwallError
from machine.bounded_http import Answer, BadAnswerError, BoundedHttp, NoAnswerError, NoAnswerInTimeError, ReadLimits

SILENCE_S = 3.0
LIMITS = ReadLimits(body_bytes=16 << 20, total_s=5.0)
OWNERS = {engine.owned_by: engine for engine in ENGINES if engine.owned_by}


class NotServingError(PitwallError):
    """Nothing to attach to at this address, in one sentence."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers at `base_url`; `engine` is 'other' for an OpenAI-compatible server that is none of ours."""

    base_url: str
    engine: str
    version: str | None
    models: tuple[str, ...]
    max_model_len: int | None
    has_metrics: bool
    has_slots: bool


def normal_base_url(text: str) -> str:
    """'localhost:8000/v1/' as 'http://localhost:8000'; raises NotServingError on what is no address."""
    url = text.strip()
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if parts.username or parts.password:
        raise NotServingError("an address with a name or password in it is not taken")
    if not valid or parts.query:
        raise NotServingError(f"{url or 'nothing'} is not an address like http://host:8000")
    path = parts.path.rstrip("/").removesuffix("/models").removesuffix("/chat/completions").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"


def identify(address: str, silence_s: float = SILENCE_S) -> Identity:
    """Ask the server there who it is, by a handful of GETs; raises NotServingError with one clear sentence."""
    base_url = normal_base_url(address)
    with closing(BoundedHttp(base_url, connect_s=silence_s, silence_s=silence_s)) as client:
        models = _models(client, base_url)
        metrics = _get(client, "/metrics")
        engine = _by_metrics(metrics) or _by_owner(models) or _by_version(client)
        slots = _get(client, engine.slots_path) if engine and engine.slots_path else None
        return Identity(
            base_url=base_url,
            engine=engine.name if engine else "other",
            version=_version(client, engine) if engine else None,
            models=tuple(model["id"] for model in models if isinstance(model.get("id"), str)),
            max_model_len=_max_model_len(models),
            has_metrics=metrics is not None and _by_metrics(metrics) is not None,
            has_slots=slots is not None,
        )


def _models(client: BoundedHttp, base_url: str) -> list[dict[str, Any]]:
    try:
        answer = client.get("/v1/models", LIMITS)
    except NoAnswerInTimeError:
        raise NotServingError(f"nothing answers in time at {base_url}") from None
    except NoAnswerError as problem:
        raise NotServingError(f"nothing answers at {base_url}: {problem}") from None
    except BadAnswerError as problem:
        raise NotServingError(f"{base_url} is not an OpenAI-compatible server: {problem}") from None
    if answer.status_code in (401, 403):
        raise NotServingError(f"{base_url} asks for an API key, which Pitwall does not have")
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        raise NotServingError(f"{base_url} is not ready yet: it answers 503")
    found = _json(answer)
    listed = found.get("data") if isinstance(found, dict) else None
    if not answer.is_ok or not isinstance(listed, list):
        said = "no list of models" if answer.is_ok else answer.status_code
        raise NotServingError(f"{base_url} is not an OpenAI-compatible server: /v1/models answers {said}")
    return [model for model in listed if isinstance(model, dict)]


def _get(client: BoundedHttp, path: str) -> Answer | None:
    try:
        answer = client.get(path, LIMITS)
    except (NoAnswerError, BadAnswerError):
        return None
    return answer if answer.is_ok else None


def _json(answer: Answer) -> JsonValue:
    try:
        return answer.json()
    except ValueError:
        return None


def _by_metrics(metrics: Answer | None) -> Engine | None:
    """The engine whose counters are exported there."""
    if metrics is None:
        return None
    known = (e for e in ENGINES if e.counters and has_prefix(metrics.content, e.counters.METRIC_PREFIXES))
    return next(known, None)


def _by_owner(models: list[dict[str, Any]]) -> Engine | None:
    """The engine that its model list names as the owner."""
    owners = (OWNERS.get(str(model.get("owned_by"))) for model in models)
    return next((engine for engine in owners if engine), None)


def _by_version(client: BoundedHttp) -> Engine | None:
    """The engine that states its version where nobody else does."""
    return next((engine for engine in ENGINES if engine.is_known_by_version and _version(client, engine)), None)


def _version(client: BoundedHttp, engine: Engine) -> str | None:
    for path, key in engine.version_paths:
        answer = _get(client, path)
        found = _json(answer) if answer is not None else None
        if isinstance(found, dict) and isinstance(found.get(key), str):
            return str(found[key])
    return None


def _max_model_len(models: list[dict[str, Any]]) -> int | None:
    """The context the server states, by vLLM's and SGLang's key or in llama.cpp's description of the model."""
    for model in models:
        meta = model.get("meta")
        stated = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
        if isinstance(stated, int):
            return stated
    return None
