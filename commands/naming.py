"""Names and colours of new runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Protocol

from domain import NOT_OVER, Config, Run, RunState
from engines import BY_NAME

COLOR_COUNT = 8


class RunBook(Protocol):
    """What names and colours need of the store."""

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> Iterable[Run]:
        """Runs, the newest first; all of them unless states or a limit are given."""
        ...

    def names_like(self, names: Collection[str]) -> Collection[str]:
        """The names of runs that are one of these or numbered on from it: 'name (2)'."""
        ...


class KnownRuns:
    """The runs that new ones must differ from: all by the name; by the colour those not over, and the latest seven."""

    def __init__(self, store: RunBook) -> None:
        self._store = store
        latest = (*store.runs(NOT_OVER), *store.runs(limit=COLOR_COUNT - 1))
        self._runs = {run.id: run for run in latest}
        self._asked: set[str] = set()
        self._taken: set[str] = set()  # of what was asked, what runs are called

    def add(self, run: Run) -> None:
        """Distinguish further ones from this too, which is not stored yet."""
        self._runs[run.id] = run

    @property
    def live(self) -> list[Run]:
        """Those that are not over."""
        return [run for run in self._runs.values() if not run.state.is_final]

    def choose_color(self) -> int:
        """The smallest index that none of them has; the least recent one's if all are taken."""
        newest_first = sorted(self._runs.values(), key=lambda run: run.created_at, reverse=True)
        taken = [run.color for run in newest_first if not run.state.is_final]
        taken += [run.color for run in newest_first[: COLOR_COUNT - 1]]
        free = [color for color in range(COLOR_COUNT) if color not in taken]
        return free[0] if free else taken[-1]

    def ask_names(self, names: Collection[str]) -> None:
        """Ask which of these are taken, in one question for all that will be chosen."""
        different = set(names)  # those of a batch are often the same
        self._taken |= set(self._store.names_like(different))
        self._asked |= different

    def choose_name(self, config: Config, wanted: str | None) -> str:
        """The wanted name, or one made of engine, model and speculation; numbered when it is taken."""
        name = wanted_name(config, wanted)
        if name not in self._asked:
            self.ask_names([name])
        taken = {*self._taken, *(run.name for run in self._runs.values())}
        number, unique = 1, name
        while unique in taken:
            number += 1
            unique = f"{name} ({number})"
        return unique


def wanted_name(config: Config, wanted: str | None) -> str:
    """What a run is to be called where that is not taken."""
    return (wanted or "").strip() or describe(config)


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
