"""Orders to the shim on another machine, and models of its answers; both are validated on arrival."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from commands.presets import Needs
from domain import Config, JsonValue, Machine, Run

RunId = Annotated[str, Field(pattern=r"^[0-9a-z][0-9a-z-]{0,63}$")]
Text = Annotated[str, Field(max_length=4_000)]
MOST_ITEMS = 1_000
Number = Annotated[int, Field(ge=-(2**31), lt=2**31)]  # range of the store's column


class _WireModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FollowOrder(_WireModel):
    """Send the log from this byte on, and the server's status."""

    order: Literal["follow"] = "follow"
    run_id: RunId
    offset: int = Field(ge=0)
    wants_about: bool = False  # the provenance, too


class StartOrder(_WireModel):
    """Start the server of this run unless it was started or stopped, then follow it.

    The config's words contain `${PITWALL_SECRET_n}` in place of secrets, which are in `secrets` by name and are passed
    to the shim in its environment.
    """

    order: Literal["start"] = "start"
    run: Run
    cwd: str | None
    makes_model: bool
    secrets: dict[str, str] = Field(repr=False)
    follow: FollowOrder

    @model_validator(mode="after")
    def _is_of_one_run(self) -> Self:
        """Check that both ids agree: the run's id names its folder, and `follow.run_id` is checked by the pattern."""
        if self.run.id != self.follow.run_id:
            raise ValueError("the run to follow differs from the run to start")
        return self


class StopOrder(_WireModel):
    """End the server of this run and its descendants; it is never started after that."""

    order: Literal["stop"] = "stop"
    run_id: RunId
    grace_s: float = Field(ge=0, le=3600)
    is_left_alone: bool = False  # its script started the server elsewhere: Pitwall must not stop it


class ForgetOrder(_WireModel):
    """Remove the folder of a run that was stopped."""

    order: Literal["forget"] = "forget"
    run_id: RunId


class CheckOrder(_WireModel):
    """Report what the machine lacks for this configuration."""

    order: Literal["check"] = "check"
    config: Config
    needs: Needs
    cwd: str | None = None


class MachineOrder(_WireModel):
    """Describe the machine."""

    order: Literal["machine"] = "machine"


AnyOrder = Annotated[
    StartOrder | FollowOrder | StopOrder | ForgetOrder | CheckOrder | MachineOrder, Field(discriminator="order")
]
ORDER: TypeAdapter[StartOrder | FollowOrder | StopOrder | ForgetOrder | CheckOrder | MachineOrder] = TypeAdapter(
    AnyOrder
)


class LeftProcess(_WireModel):
    """One process that outlived the server and had to be ended."""

    pid: int
    name: Text
    signal: Text


class RemoteExit(_WireModel):
    """End of the server, as its shim recorded it."""

    exit_code: Number | None
    signal: Number | None
    cause: Text | None
    ended_at: AwareDatetime | None
    left: tuple[LeftProcess, ...] = Field(default=(), max_length=MOST_ITEMS)
    started_at: AwareDatetime | None = None  # None: the server never started


class RemoteServer(_WireModel):
    """Process of the server on the other machine."""

    pid: Number
    started_at: AwareDatetime | None


class RemoteProvenance(_WireModel):
    """Description of the other machine, and the run's provenance there."""

    machine: Machine
    provenance: dict[str, JsonValue]

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        if not 0 <= (self.machine.cores or 0) < 2**31 or self.machine.seen_at.tzinfo is None:
            raise ValueError("the machine's values are out of range")
        if "host" not in self.provenance:  # it marks a run whose provenance is recorded
            raise ValueError("the provenance has no host")
        return self


class RemoteContainer(_WireModel):
    """The run's container before its removal, with the fields of ContainerFacts."""

    tool: Text
    name: Text
    id: Text
    image: Text | None
    image_id: Text | None
    image_digest: Text | None
    is_running: bool
    has_started: bool
    exit_code: Number | None
    is_oom_killed: bool | None
    pid: Number | None
    pid_birth_s: float | None
    pid_started_at: float | None


class RemoteStopReport(_WireModel):
    """Result of stopping a run on the other machine."""

    actions: tuple[Text, ...] = Field(max_length=MOST_ITEMS)
    leftovers: tuple[Text, ...] = Field(max_length=MOST_ITEMS)
    container: RemoteContainer | None = None
