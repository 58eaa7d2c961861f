"""Reads a study file (question, arms, workloads, budget) into a checked plan of configurations."""

from __future__ import annotations

import math
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from analysis.evidence.objectives import UnknownObjectiveError, parse_objective
from analysis.study.proposal import OptunaMissingError
from commands.any_program import as_it_is
from commands.explain import explain
from commands.study_vary import MOST_ARMS, MOST_IN_GRID, Vary, varied
from commands.study_workloads import Name, WorkloadText, titles
from commands.write import CommandError
from domain import Config, JsonValue
from errors import PitwallError

MOST_BYTES = 1 << 20
ACCURACY = "accuracy"  # the objective of a tool that counts right answers; of 'measure' alone
USERS_HELD = "users_held"  # the objective of 'load': a result of the workload 'knee', not of single requests
MOST_WORKLOADS = 4
MOST_SETTINGS = 6
Question = Literal["which", "value", "load", "upgrade", "measure"]


class StudyFileError(PitwallError):
    """The file of a study cannot be used; the message is one sentence that names the place."""


class Budget(BaseModel):
    """When to stop without an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    runs: int = Field(default=40, ge=2, le=1000)  # server starts
    rounds: int = Field(default=10, ge=2, le=10)  # more looks would not hold what the level promises
    trials: int | None = Field(default=None, ge=4, le=500)  # of combinations that are proposed; None: half of the runs
    hours: float | None = Field(default=None, gt=0.0, le=24 * 30)


class ArmText(BaseModel):
    """One arm as the file says it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Name
    command: str = Field(min_length=1, max_length=65_536)
    engine: str | None = None  # where the command does not say
    base_url: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    host: str | None = Field(default=None, pattern=r"^[\w.-]{1,40}$")  # as `./pitwall host list` calls it; None: here


class StudyFile(BaseModel):
    """The file as it stands."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: Question
    title: str | None = Field(default=None, max_length=200)
    smallest_difference: float = Field(default=0.02, gt=0.0, lt=1.0)
    objective: str | None = None  # None: what the workload is for
    seed: int = Field(default=1, ge=-(1 << 63), lt=1 << 63)  # as the store keeps it with each run
    ready_timeout_s: float = Field(default=600.0, gt=0.0, allow_inf_nan=False)
    budget: Budget = Budget()
    arm: list[ArmText] = Field(min_length=1, max_length=MOST_ARMS)
    workload: list[WorkloadText] = Field(min_length=1, max_length=MOST_WORKLOADS)
    vary: list[Vary] = Field(default_factory=list, max_length=MOST_SETTINGS)

    @model_validator(mode="after")
    def fits_its_question(self) -> StudyFile:
        """Refuse arms, settings and workloads that the question does not take; raises ValueError, for pydantic."""
        names = [one.name for one in self.arm]
        if len(set(names)) < len(names):
            raise ValueError("two arms have one name")
        if self.question == "value" and not (len(self.arm) == 1 and self.vary):
            raise ValueError("'value' takes one arm, and [[vary]] with a field and its values")
        if self.question != "value" and self.vary:
            raise ValueError("[[vary]] belongs to the question 'value'")
        if len(self.vary) > MOST_IN_GRID and len(self.workload) > 1:
            raise ValueError("more than two [[vary]] take one workload")
        titles(self.workload)
        if self.question == "load" and len(self.workload) > 1:
            raise ValueError("'load' takes one workload, 'knee'")
        objective = self.workload[0].objective or self.objective or USERS_HELD
        if self.question == "load" and objective == USERS_HELD and self.workload[0].name != "knee":
            raise ValueError("'load' takes the workload 'knee', which searches how many users a server holds")
        if self.question == "upgrade" and len(self.arm) != 2:
            raise ValueError("'upgrade' takes two arms: before and after")
        if self.question == "measure" and len(self.arm) != 1:
            raise ValueError("'measure' takes one arm")
        if self.question in ("which", "load") and len(self.arm) < 2:
            raise ValueError(f"{self.question!r} takes two arms or more")
        return self


class StudyArm(BaseModel):
    """One arm, read."""

    model_config = ConfigDict(frozen=True)
    name: str
    config: Config
    base_url: str | None = None
    host: str | None = None  # on which its server is started by ssh
    choice: tuple[int, ...] = ()  # of a proposed combination: which value of each setting, from 0


class StudyPlan(BaseModel):
    """What a study does: kept as it is, so that another start of Pitwall goes on with it."""

    model_config = ConfigDict(frozen=True)
    question: Question
    title: str
    margin: float
    objective: str | None
    seed: int
    ready_timeout_s: float
    budget: Budget
    arms: tuple[StudyArm, ...]
    workload: str
    params: dict[str, JsonValue]
    label: str | None = None  # what its workload is called, where that is not its name
    vary: tuple[Vary, ...] = ()  # of the question 'value': what its arms differ in
    more_workloads: tuple[WorkloadText, ...] = ()
    notes: tuple[str, ...] = ()  # of a recipe: what is done otherwise than it says

    def under_each(self) -> list[StudyPlan]:
        """A plan for each workload, which knows what it is called."""
        names = titles(self._workloads)
        first = self.model_copy(update={"label": names[0], "more_workloads": ()})
        more = zip(names[1:], self.more_workloads, strict=True)
        others = [{"label": n, "workload": m.name, "params": m.params, "objective": m.objective} for n, m in more]
        return [first, *(first.model_copy(update=one) for one in others)]

    @property
    def _workloads(self) -> list[WorkloadText]:
        return [WorkloadText(name=self.workload, label=self.label, params=self.params), *self.more_workloads]

    @property
    def workload_title(self) -> str:
        """What the workload of a plan for one is called."""
        return self.label or self.workload

    @property
    def is_proposed(self) -> bool:  # one by one, its combinations
        return len(self.vary) > MOST_IN_GRID

    @property
    def trials(self) -> int:
        """Combinations that start, where they are proposed."""
        return min(self.budget.trials or max(4, self.budget.runs // 2), self.combinations)

    @property
    def combinations(self) -> int:
        return math.prod(len(one.values) for one in self.vary)

    @property
    def workload_names(self) -> str:
        return ", ".join(titles(self._workloads))


class ArmsFile(BaseModel):
    """Arms alone, for a study that goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    arm: list[ArmText] = Field(min_length=1, max_length=MOST_ARMS)


def read_arms(path: Path) -> list[ArmText]:
    """The arms of a file that has nothing else; raises StudyFileError, or OSError."""
    try:
        return ArmsFile.model_validate(_toml(text_of_file(path), path.stem)).arm
    except ValidationError as error:
        raise _refusal(error, path.stem) from error


def text_of_file(path: Path) -> str:
    """Bounded, of a regular file, for a pipe or a device may have no end; raises StudyFileError, or OSError."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StudyFileError(f"{path.name} is not a regular file: it is no study.")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise StudyFileError(f"{path.name} is larger than 1 MiB: it is no study.")
    return data.decode(errors="replace")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def study_of_text(text: str, name: str) -> StudyPlan:
    """Read and check the text of a file; raises StudyFileError."""
    try:
        return plan_of(StudyFile.model_validate(_toml(text, name)), name)
    except ValidationError as error:
        raise _refusal(error, name) from error


def _refusal(error: ValidationError, name: str) -> StudyFileError:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "the file"
    return StudyFileError(f"{name}, {place}: {first['msg'].removeprefix('Value error, ')}.")


def _toml(text: str, name: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{name} is no TOML: {error}.") from error
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        raise StudyFileError(f"{name} cannot be read: a number is too long, or values are nested too deeply.") from None


def plan_of(given: StudyFile, name: str) -> StudyPlan:
    """The plan of a file; raises StudyFileError for a command that cannot be read."""
    arms, vary = [arm_of(one) for one in given.arm], list[Vary]()
    if given.vary:
        arms, vary = _varied(arms[0], given.vary)
    workload, *more = given.workload
    for objective in (given.objective, *(one.objective for one in given.workload)):
        _check_objective(objective, given.question)
    return StudyPlan(
        question=given.question,
        title=given.title or name,
        margin=given.smallest_difference,
        objective=workload.objective or given.objective or (USERS_HELD if given.question == "load" else None),
        seed=given.seed,
        ready_timeout_s=given.ready_timeout_s,
        budget=given.budget,
        arms=tuple(arms),
        workload=workload.name,
        params=workload.params,
        label=workload.label,
        vary=tuple(vary),
        more_workloads=tuple(one.model_copy(update={"objective": one.objective or given.objective}) for one in more),
    )


def _check_objective(name: str | None, question: Question) -> None:
    of_results = {USERS_HELD: "load", ACCURACY: "measure"}
    if name is not None and of_results.get(name) != question:
        try:
            parse_objective(name)
        except UnknownObjectiveError as error:
            raise StudyFileError(str(error)) from error


def arm_of(given: ArmText) -> StudyArm:
    """The arm of its text; raises StudyFileError for a command that cannot be read."""
    read = explain(given.command)
    config = read.config or (as_it_is(given.command, given.engine) if given.engine else None)
    if config is None or (read.refused and not given.engine):
        raise StudyFileError(f"The command of arm {given.name!r} cannot be read: {read.refused or 'no server in it'}")
    update: Mapping[str, object] = {
        **({"engine": given.engine} if given.engine else {}),
        **({"env": {**config.env, **given.env}} if given.env else {}),
    }
    return StudyArm(name=given.name, config=config.model_copy(update=update), base_url=given.base_url, host=given.host)


def _varied(base: StudyArm, vary: list[Vary]) -> tuple[list[StudyArm], list[Vary]]:
    try:
        variants, in_full = varied(base.config, vary)
    except CommandError as error:
        raise StudyFileError(f"The values cannot be tried: {error}") from error
    except OptunaMissingError as error:
        raise StudyFileError(str(error)) from error
    return [base.model_copy(update=one._asdict()) for one in variants], in_full
