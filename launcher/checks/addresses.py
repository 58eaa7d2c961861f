"""Default address and readiness path of a server, from its configuration; nothing is requested from it."""

from __future__ import annotations

from domain import Config
from engines import BY_NAME
from machine.ports import dial_host

ANY_ENGINE_READY_PATH = "/v1/models"


def default_ready_path(config: Config) -> str:
    """Return the engine's readiness path."""
    engine = BY_NAME.get(config.engine)
    return engine.ready_path if engine else ANY_ENGINE_READY_PATH


def default_base_url(config: Config) -> str | None:
    """Return the URL of a server of this config on this machine; None if no port is known."""
    engine = BY_NAME.get(config.engine)
    port = config.port or (engine.default_port if engine else None)
    host = dial_host(config.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}" if port else None
