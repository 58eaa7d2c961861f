"""Environment of an agent: Pitwall's own without secrets, with the address and key of the recorder."""

from __future__ import annotations

from collections.abc import Mapping

from redaction import HIDDEN_PREFIX, is_secret_name
from workloads.agent_tasks.task_params import AgentTaskParams, filled


def agent_environment(params: AgentTaskParams, inherited: Mapping[str, str], values: dict[str, str]) -> dict[str, str]:
    """Return the variables of the agent and of its check; `values` fill the placeholders."""
    base_url, key = values["base_url"], values["key"]
    return {
        **_without_secrets(inherited, params.pass_env),
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_AUTH_TOKEN": key,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_BASE_URL": f"{base_url}/v1",
        "OPENAI_API_KEY": key,
        "CODEX_API_KEY": key,  # Codex takes no address from a variable
        **{name: filled([value], values)[0] for name, value in params.env.items()},
    }


def _without_secrets(inherited: Mapping[str, str], passed: tuple[str, ...]) -> dict[str, str]:
    """Return the inherited variables without secrets, except those that are passed on by name."""
    return {
        name: value
        for name, value in inherited.items()
        if name in passed or not (name.startswith(HIDDEN_PREFIX) or is_secret_name(name, value))
    }


def secrets_to_mask(params: AgentTaskParams, inherited: Mapping[str, str], *keys: str | None) -> list[str]:
    """Return the values that the agent's output must not show: keys, and secrets that it is given on request."""
    passed = (inherited[name] for name in params.pass_env if name in inherited)
    return [value for value in (*keys, *passed) if value]
