"""Where a server of a config answers on this machine, as its engine has it; nothing is asked of it here."""

from __future__ import annotations

from domain import Config
from engines import BY_NAME
from machine.ports import dial_host

ANY_ENGINE_READY_PATH = "/v1/models"


def default_ready_path(config: Config) -> str:
    """The engine's own readiness endpoint."""
    engine = BY_NAME.get(config.engine)
    return engine.ready_path if engine else ANY_ENGINE_READY_PATH


def default_base_url(config: Config) -> str | None:
    """Where a server of this config will answer on this machine; None when no port is known."""
    engine = BY_NAME.get(config.engine)
    port = config.port or (engine.default_port if engine else None)
    host = dial_host(config.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}" if port else None
