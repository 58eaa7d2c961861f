"""Reads a study file (question, arms, workloads, budget) into a checked plan of configurations."""

from __future__ import annotations

import math
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from analysis.comparison.setting_words import setting_text
from analysis.evidence.objectives import Objective, ObjectiveKind, UnknownObjectiveError, parse_objective
from analysis.physics.money import StatedPrices
from analysis.study.proposal import OptunaMissingError
from commands.explain import explain
from commands.study_vary import MAX_GRID_SETTINGS, MOST_ARMS, Vary, vary_config
from commands.study_workloads import Name, WorkloadText, titles
from commands.write import CommandError
from domain import Config, JsonValue
from errors import PitwallError
from load_records import AGENT_TASK

_PORT = re.compile(r"(?:^|\s)(?:--port|-p)[=\s]+(\d{1,5})(?:\s|$)")

MAX_BYTES = 1 << 20
ACCURACY = "accuracy"  # objective of tools that count correct answers; only for 'measure'
SOLVED = "solved"  # objective of agent tasks: the share of repeats that were solved
USERS_HELD = "users_held"  # objective of 'load': a result of the workload 'knee', not of single requests
RESULTS = frozenset({ACCURACY, SOLVED, USERS_HELD})  # objectives that are results of whole loads
MOST_WORKLOADS = 4
MOST_SETTINGS = 6
MAX_TITLE = 200  # characters
Question = Literal["which", "value", "load", "upgrade", "measure"]


class StudyFileError(PitwallError):
    """A study file is invalid; the message is one sentence with the location."""


class Budget(BaseModel):
    """The limits at which a study stops without an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    runs: int = Field(default=40, ge=2, le=1000)  # server starts
    rounds: int = Field(default=10, ge=2, le=10)  # the confidence level is not valid for more rounds
    trials: int | None = Field(default=None, ge=4, le=500)  # number of proposed combinations; None: half of the runs
    hours: float | None = Field(default=None, gt=0.0, le=24 * 30)


class PriceText(BaseModel):
    """Prices for the objective 'session_cost'; one that is not stated is not counted."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    currency: str = Field(min_length=1, max_length=8)
    per_hour: float | None = Field(default=None, gt=0.0, allow_inf_nan=False)  # of the machine
    per_kwh: float | None = Field(default=None, gt=0.0, allow_inf_nan=False)  # of electricity

    @property
    def stated_prices(self) -> StatedPrices | None:
        """The prices; None if neither is stated."""
        has_price = self.per_hour or self.per_kwh
        return StatedPrices(self.currency, self.per_hour or 0.0, self.per_kwh or 0.0) if has_price else None


class ArmText(BaseModel):
    """One arm as written in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Name
    command: str = Field(min_length=1, max_length=65_536)
    engine: str | None = None  # if the command does not show it
    base_url: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    host: str | None = Field(
        default=None, pattern=r"^[\w.-]{1,40}$"
    )  # name from `./pitwall host list`; None: this machine


class Requirement(BaseModel):
    """What the answers of an arm must fulfil to stay in the race, measured by the load 'fidelity' on its servers."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    agreement: float = Field(gt=0.0, lt=1.0)  # least share of the first arm's next tokens that an arm must choose too
    params: dict[str, JsonValue] = Field(default_factory=dict)  # of the load


class StudyText(BaseModel):
    """A study file that may still lack arms and a workload, as while it is being written."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: Question = "which"
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    smallest_difference: float = Field(default=0.02, gt=0.0, lt=1.0)
    objective: str | None = None  # None: the workload's default
    seed: int = Field(default=1, ge=-(1 << 63), lt=1 << 63)  # range of the store's column
    ready_timeout_s: float = Field(default=600.0, gt=0.0, allow_inf_nan=False)
    budget: Budget = Budget()
    prices: PriceText | None = None
    arm: list[ArmText] = Field(default_factory=list, max_length=MOST_ARMS)
    workload: list[WorkloadText] = Field(default_factory=list, max_length=MOST_WORKLOADS)
    vary: list[Vary] = Field(default_factory=list, max_length=MOST_SETTINGS)
    require: list[Requirement] = Field(default_factory=list, max_length=1)


class StudyFile(StudyText):
    """A complete study file."""

    question: Question
    arm: list[ArmText] = Field(min_length=1, max_length=MOST_ARMS)
    workload: list[WorkloadText] = Field(min_length=1, max_length=MOST_WORKLOADS)

    @model_validator(mode="after")
    def fits_its_question(self) -> StudyFile:
        """Refuse arms, settings and workloads that do not fit the question; raises ValueError, for pydantic."""
        names = [arm.name for arm in self.arm]
        if len(set(names)) < len(names):
            raise ValueError("two arms have the same name")
        if self.question == "value" and not (len(self.arm) == 1 and self.vary):
            raise ValueError("'value' needs one arm, and [[vary]] with a field and its values")
        if self.question != "value" and self.vary:
            raise ValueError("[[vary]] requires the question 'value'")
        if len(self.vary) > MAX_GRID_SETTINGS and len(self.workload) > 1:
            raise ValueError("with more than two [[vary]] only one workload is allowed")
        titles(self.workload)
        for workload in self.workload:
            self._check_solved(workload)
            self._check_prices(workload)
        if self.question == "load" and len(self.workload) > 1:
            raise ValueError("'load' needs exactly one workload, 'knee'")
        objective = self.workload[0].objective or self.objective or USERS_HELD
        if self.question == "load" and objective == USERS_HELD and self.workload[0].name != "knee":
            raise ValueError("'load' needs the workload 'knee', which finds how many users a server can hold")
        if self.question == "upgrade" and len(self.arm) != 2:
            raise ValueError("'upgrade' needs two arms: before and after")
        if self.question == "measure" and self.require:
            raise ValueError("[[require]] compares answers with those of the first arm, and 'measure' has no other")
        if self.question == "measure" and len(self.arm) != 1:
            raise ValueError("'measure' needs exactly one arm")
        if self.question in ("which", "load") and len(self.arm) < 2:
            raise ValueError(f"{self.question!r} needs at least two arms")
        return self

    def _check_solved(self, workload: WorkloadText) -> None:
        """Refuse 'solved' for what is no agent task, and for combinations that Optuna proposes by a speed."""
        if _objective_of(workload, self) != SOLVED:
            return
        if workload.name != AGENT_TASK:
            raise ValueError(f"'solved' needs the workload {AGENT_TASK!r}")
        if self.question == "load" or len(self.vary) > MAX_GRID_SETTINGS:
            raise ValueError("'solved' answers which, value, upgrade and measure, with two [[vary]] at most")

    def _check_prices(self, workload: WorkloadText) -> None:
        """Refuse 'session_cost' without a price."""
        if _objective_of(workload, self) == ObjectiveKind.SESSION_COST and not (
            self.prices and self.prices.stated_prices
        ):
            raise ValueError("'session_cost' needs [prices] with a currency, and per_hour, per_kwh or both")


def _objective_of(workload: WorkloadText, study_text: StudyText) -> str | None:
    """Return the objective of a workload: its own, the study's, or 'solved' of an agent task; None: its default."""
    return workload.objective or study_text.objective or (SOLVED if workload.name == AGENT_TASK else None)


class StudyArm(BaseModel):
    """One parsed arm."""

    model_config = ConfigDict(frozen=True)
    name: str
    config: Config
    base_url: str | None = None
    host: str | None = None  # machine on which its server is started by ssh
    choice: tuple[int, ...] = ()  # of a proposed combination: index of each setting's value, from 0


class StudyPlan(BaseModel):
    """The plan of a study, stored so that it continues after a restart of Pitwall."""

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
    label: str | None = None  # title of its workload, if it is not the name
    vary: tuple[Vary, ...] = ()  # for the question 'value': the varied settings
    more_workloads: tuple[WorkloadText, ...] = ()
    notes: tuple[str, ...] = ()  # deviations from a recipe
    require: tuple[Requirement, ...] = ()
    prices: PriceText | None = None

    @property
    def priced_objective(self) -> Objective | None:
        """The objective with the plan's prices; None: the workload's own. Not for results such as 'solved'."""
        objective = parse_objective(self.objective) if self.objective else None
        if objective is None or objective.kind is not ObjectiveKind.SESSION_COST:
            return objective
        return Objective(objective.kind, prices=self.prices.stated_prices if self.prices else None)

    def per_workload(self) -> list[StudyPlan]:
        """Return a plan for each workload, with the workload's title."""
        names = titles(self._workloads)
        first = self.model_copy(update={"label": names[0], "more_workloads": ()})
        more = zip(names[1:], self.more_workloads, strict=True)
        updates = [{"label": n, "workload": m.name, "params": m.params, "objective": m.objective} for n, m in more]
        return [first, *(first.model_copy(update=update) for update in updates)]

    @property
    def _workloads(self) -> list[WorkloadText]:
        return [WorkloadText(name=self.workload, label=self.label, params=self.params), *self.more_workloads]

    @property
    def workload_title(self) -> str:
        """The title of the workload of a single-workload plan."""
        return self.label or self.workload

    @property
    def is_proposed(self) -> bool:  # whether Optuna proposes its combinations one by one
        return len(self.vary) > MAX_GRID_SETTINGS

    @property
    def trials(self) -> int:
        """The number of combinations to start, if they are proposed."""
        return min(self.budget.trials or max(4, self.budget.runs // 2), self.combinations)

    @property
    def combinations(self) -> int:
        return math.prod(len(setting.values) for setting in self.vary)

    @property
    def workload_names(self) -> str:
        return ", ".join(titles(self._workloads))


class ArmsFile(BaseModel):
    """Additional arms for a running study."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    arm: list[ArmText] = Field(min_length=1, max_length=MOST_ARMS)


def read_arms(path: Path) -> list[ArmText]:
    """Read the arms of a file with nothing else; raises StudyFileError or OSError."""
    try:
        return ArmsFile.model_validate(_toml(text_of_file(path), path.stem)).arm
    except ValidationError as error:
        raise _refusal(error, path.stem) from error


def text_of_file(path: Path) -> str:
    """Read a regular file up to a limit, because pipes and devices may be endless; raises StudyFileError or OSError."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StudyFileError(f"{path.name} is not a regular file.")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise StudyFileError(f"{path.name} is larger than the 1 MiB limit for study files.")
    return data.decode(errors="replace")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def study_of_text(text: str, name: str) -> StudyPlan:
    """Read and check the text of a study file; raises StudyFileError."""
    try:
        return plan_of(StudyFile.model_validate(_toml(text, name)), name)
    except ValidationError as error:
        raise _refusal(error, name) from error


def read_study_text(text: str, name: str) -> StudyText:
    """Read a study file that may be incomplete; raises StudyFileError for what no addition can mend."""
    try:
        return StudyText.model_validate(_toml(text, name))
    except ValidationError as error:
        raise _refusal(error, name) from error


def study_toml(study_text: StudyText) -> str:
    """Return a study as the text of its file, without what is at its default."""
    fields = study_text.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    arrays = [(name, table) for name, tables in fields.items() if isinstance(tables, list) for table in tables]
    head = {"question": study_text.question} | {n: v for n, v in fields.items() if not isinstance(v, list)}
    return tomli_w.dumps(head) + "".join(_table_of_array(name, table) for name, table in arrays)


def _table_of_array(name: str, table: Mapping[str, object]) -> str:
    return tomli_w.dumps({name: table}, multiline_strings=True).replace(f"[{name}]", f"[[{name}]]", 1)


def title_of_arms(plan: StudyPlan) -> str:
    """Return a title made of the arms: 'plain or n-gram', 'max_num_seqs 1, 4, 8'."""
    if plan.vary:
        return "; ".join(map(_title_of_setting, plan.vary))[:MAX_TITLE]
    names = [arm.name for arm in plan.arms]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))[:MAX_TITLE]


def _title_of_setting(vary: Vary) -> str:
    """Return 'num_tokens 1, 4, unset'."""
    first, *more = [setting_text(vary.field, value) for value in vary.values]
    return ", ".join([first, *(text.partition(" ")[2] for text in more)])


def _refusal(error: ValidationError, name: str) -> StudyFileError:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "the file"
    return StudyFileError(f"{name}, {place}: {first['msg'].removeprefix('Value error, ')}.")


def _toml(text: str, name: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{name} is not valid TOML: {error}.") from error
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        raise StudyFileError(
            f"{name} cannot be read: it has a number that is too long, or values nested too deeply."
        ) from None


def plan_of(study_file: StudyFile, name: str) -> StudyPlan:
    """Return the plan of a file; raises StudyFileError for a command that cannot be read."""
    arms, vary = [arm_of(arm_text) for arm_text in study_file.arm], list[Vary]()
    if study_file.vary:
        arms, vary = _varied(arms[0], study_file.vary)
    workload, *more = study_file.workload
    for objective in (study_file.objective, *(workload_text.objective for workload_text in study_file.workload)):
        _check_objective(objective, study_file.question)
    return StudyPlan(
        question=study_file.question,
        title=study_file.title or name,
        margin=study_file.smallest_difference,
        objective=_objective_of(workload, study_file) or (USERS_HELD if study_file.question == "load" else None),
        seed=study_file.seed,
        ready_timeout_s=study_file.ready_timeout_s,
        budget=study_file.budget,
        arms=tuple(arms),
        workload=workload.name,
        params=workload.params,
        label=workload.label,
        vary=tuple(vary),
        more_workloads=tuple(
            extra_workload.model_copy(update={"objective": _objective_of(extra_workload, study_file)})
            for extra_workload in more
        ),
        require=tuple(study_file.require),
        prices=study_file.prices,
    )


def _check_objective(name: str | None, question: Question) -> None:
    result_objectives = {USERS_HELD: "load", ACCURACY: "measure", SOLVED: question}
    if name is not None and result_objectives.get(name) != question:
        try:
            parse_objective(name)
        except UnknownObjectiveError as error:
            raise StudyFileError(str(error)) from error


def arm_of(arm_text: ArmText) -> StudyArm:
    """Parse an arm; raises StudyFileError for a command that cannot be read."""
    explanation = explain(arm_text.command)
    config = explanation.config or (_split_command(arm_text.command, arm_text.engine) if arm_text.engine else None)
    if config is None or (explanation.refused and not arm_text.engine):
        raise StudyFileError(
            f"The command of arm {arm_text.name!r} cannot be read: {explanation.refused or 'no server in it'}"
        )
    update: Mapping[str, object] = {
        **({"engine": arm_text.engine} if arm_text.engine else {}),
        **({"env": {**config.env, **arm_text.env}} if arm_text.env else {}),
    }
    return StudyArm(
        name=arm_text.name, config=config.model_copy(update=update), base_url=arm_text.base_url, host=arm_text.host
    )


def _varied(base: StudyArm, vary: list[Vary]) -> tuple[list[StudyArm], list[Vary]]:
    try:
        variants, full_settings = vary_config(base.config, vary)
    except CommandError as error:
        raise StudyFileError(f"The values cannot be tried: {error}") from error
    except OptunaMissingError as error:
        raise StudyFileError(str(error)) from error
    return [base.model_copy(update=variant._asdict()) for variant in variants], full_settings


def _split_command(command: str, engine: str) -> Config | None:
    """Split the command as a shell would, without running it; None if it cannot be split."""
    try:
        words = shlex.split(command.replace("\\\n", " "))
    except ValueError:
        return None
    if not words:
        return None
    port = _PORT.search(command)
    return Config(engine=engine, executable=words[0], argv=tuple(words), port=int(port[1]) if port else None)
