"""What one Pitwall asks of the shim on another machine, and what it keeps of the answers; all checked on arrival."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from commands.presets import Needs
from domain import Config, JsonValue, Machine, Run

RunId = Annotated[str, Field(pattern=r"^[0-9a-z][0-9a-z-]{0,63}$")]
Text = Annotated[str, Field(max_length=4_000)]
MOST_NAMED = 1_000
Number = Annotated[int, Field(ge=-(2**31), lt=2**31)]  # as the store holds it


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Follow(_Told):
    """Send the log from this byte on, and what becomes of the server."""

    order: Literal["follow"] = "follow"
    run_id: RunId
    offset: int = Field(ge=0)
    wants_about: bool = False  # what it runs on, too


class Start(_Told):
    """Start the server of this run unless it was started or stopped, then follow it.

    The config's words hold `${PITWALL_SECRET_n}` in place of secrets, which stand in `secrets` by name and are given to
    the shim in its environment.
    """

    order: Literal["start"] = "start"
    run: Run
    cwd: str | None
    makes_model: bool
    secrets: dict[str, str] = Field(repr=False)
    follow: Follow

    @model_validator(mode="after")
    def _is_of_one_run(self) -> Self:
        """The run's id names its folder, and is held against the same pattern by this."""
        if self.run.id != self.follow.run_id:
            raise ValueError("another run is followed than is started")
        return self


class Stop(_Told):
    """End the server of this run with all that it started; it is not started after that."""

    order: Literal["stop"] = "stop"
    run_id: RunId
    grace_s: float = Field(ge=0, le=3600)
    is_left_alone: bool = False  # its script has left the server to itself: it is not ours to stop


class Forget(_Told):
    """Remove the folder of a run that was stopped."""

    order: Literal["forget"] = "forget"
    run_id: RunId


class Check(_Told):
    """Say what the machine lacks for this configuration."""

    order: Literal["check"] = "check"
    config: Config
    needs: Needs
    cwd: str | None = None


class WhoAreYou(_Told):
    """Say what the machine is."""

    order: Literal["machine"] = "machine"


Order = Annotated[Start | Follow | Stop | Forget | Check | WhoAreYou, Field(discriminator="order")]
ORDER: TypeAdapter[Start | Follow | Stop | Forget | Check | WhoAreYou] = TypeAdapter(Order)


class LeftProcess(_Told):
    """One process that outlived the server and had to be ended."""

    pid: int
    name: Text
    signal: Text


class Exit(_Told):
    """How the server ended, as its shim wrote it down."""

    exit_code: Number | None
    signal: Number | None
    cause: Text | None
    ended_at: AwareDatetime | None
    left: tuple[LeftProcess, ...] = Field(default=(), max_length=MOST_NAMED)
    started_at: AwareDatetime | None = None  # None: there never was a server


class Server(_Told):
    """The process of the server over there."""

    pid: Number
    started_at: AwareDatetime | None


class About(_Told):
    """What the machine is, and what the run was frozen with."""

    machine: Machine
    provenance: dict[str, JsonValue]

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        if not 0 <= (self.machine.cores or 0) < 2**31 or self.machine.seen_at.tzinfo is None:
            raise ValueError("no such machine")
        if "host" not in self.provenance:  # by it a run is known to be noted already
            raise ValueError("no host")
        return self


class Container(_Told):
    """The run's container before it was removed, in the fields of ContainerFacts."""

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


class Stopped(_Told):
    """What stopping did over there."""

    actions: tuple[Text, ...] = Field(max_length=MOST_NAMED)
    leftovers: tuple[Text, ...] = Field(max_length=MOST_NAMED)
    container: Container | None = None


class Lacks(_Told):
    """What was found out before a launch."""

    lacks: tuple[Text, ...] = Field(max_length=MOST_NAMED)
    doubts: tuple[Text, ...] = Field(max_length=MOST_NAMED)
    unknown: tuple[Text, ...] = Field(max_length=MOST_NAMED)
