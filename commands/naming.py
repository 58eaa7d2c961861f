"""Names and colours of new runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from domain import Config, Run
from engines import BY_NAME

COLOR_COUNT = 8


def choose_color(runs: Sequence[Run]) -> int:
    """The smallest index that no live run and none of the latest seven has; the least recent one's if all are taken."""
    newest_first = sorted(runs, key=lambda run: run.created_at, reverse=True)
    taken = [run.color for run in newest_first if not run.state.is_final]
    taken += [run.color for run in newest_first[: COLOR_COUNT - 1]]
    free = [color for color in range(COLOR_COUNT) if color not in taken]
    return free[0] if free else taken[-1]


def choose_name(config: Config, wanted: str | None, taken: Collection[str]) -> str:
    """The wanted name, or one made of engine, model and speculation; numbered when it is taken."""
    name = (wanted or "").strip() or describe(config)
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique


def describe(config: Config) -> str:
    """'vLLM, Qwen3-32B, mtp k=3'."""
    engine = BY_NAME.get(config.engine)
    model = config.served_model_name or (PurePosixPath(config.model.rstrip("/")).name if config.model else None)
    executable = PurePosixPath(config.argv[0]).name if config.argv and not model else None
    speculation = config.speculative
    drafting = None
    if speculation:
        tokens = f" k={speculation.num_tokens}" if speculation.num_tokens is not None else ""
        drafting = f"{speculation.method or 'speculation'}{tokens}"
    title = engine.title if engine else "Server"
    return ", ".join(part for part in (title, model or executable, drafting) if part)
