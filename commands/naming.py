"""Chooses names and colours of new runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Protocol

from analysis.comparison.config_diff import settings_key
from analysis.comparison.model_names import weights_name
from domain import OPEN_STATES, Config, Run, RunState
from engines import BY_NAME

COLOR_COUNT = 8


class RunBook(Protocol):
    """The store as used for names and colours."""

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> Iterable[Run]:
        """Return runs, newest first; all of them without states or a limit."""
        ...

    def names_like(self, names: Collection[str]) -> Collection[str]:
        """Return the names of runs that equal one of these or extend it by a number: 'name (2)'."""
        ...


class RunNaming:
    """Chooses names that differ from all runs, and colours that differ from live runs and the latest seven."""

    def __init__(self, store: RunBook) -> None:
        self._store = store
        latest = (*store.runs(OPEN_STATES), *store.runs(limit=COLOR_COUNT - 1))
        self._runs = {run.id: run for run in latest}
        self._checked_names: set[str] = set()
        self._taken_names: set[str] = set()  # the checked names that runs have

    def add(self, run: Run) -> None:
        """Include a run that is not stored yet."""
        self._runs[run.id] = run

    @property
    def live(self) -> list[Run]:
        """The live runs."""
        return [run for run in self._runs.values() if not run.state.is_final]

    def choose_color(self, config: Config) -> int:
        """Return the colour of a run with the same settings, else the smallest unused, else the least recent one."""
        newest_first = sorted(self._runs.values(), key=lambda run: run.created_at, reverse=True)
        if settings := settings_key(config.model_dump()):
            for run in newest_first:
                if settings_key(run.config.model_dump()) == settings:
                    return run.color
        used_colors = [run.color for run in newest_first if not run.state.is_final]
        used_colors += [run.color for run in newest_first[: COLOR_COUNT - 1]]
        free = [color for color in range(COLOR_COUNT) if color not in used_colors]
        return free[0] if free else used_colors[-1]

    def check_names(self, names: Collection[str]) -> None:
        """Check which of these names are taken, in one query."""
        distinct_names = set(names)  # those of a batch are often the same
        self._taken_names |= set(self._store.names_like(distinct_names))
        self._checked_names |= distinct_names

    def choose_name(self, config: Config, requested: str | None) -> str:
        """Return the requested name, or one from engine, model and speculation; numbered if it is taken."""
        name = requested_name(config, requested)
        if name not in self._checked_names:
            self.check_names([name])
        used_names = {*self._taken_names, *(run.name for run in self._runs.values())}
        number, unique = 1, name
        while unique in used_names:
            number += 1
            unique = f"{name} ({number})"
        return unique


def requested_name(config: Config, requested: str | None) -> str:
    """Return the name of a run if it is not taken."""
    return (requested or "").strip() or describe(config)


def describe(config: Config) -> str:
    """Describe a config in one line, with its weights: 'vLLM, Qwen3-32B-FP8, mtp k=3'."""
    engine = BY_NAME.get(config.engine)
    model = weights_name(config.model) if config.model else config.served_model_name
    executable = PurePosixPath(config.argv[0]).name if config.argv and not model else None
    speculation = config.speculative
    drafting = None
    if speculation:
        tokens = f" k={speculation.num_tokens}" if speculation.num_tokens is not None else ""
        drafting = f"{speculation.method or 'speculation'}{tokens}"
    title = engine.title if engine else "Server"
    return ", ".join(part for part in (title, model or executable, drafting) if part)
