"""Asks the lake in a sandboxed process, with the role and the key of lake.toml that may only read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from settings import Settings
from storage.sandbox.client import RunProcess, Sandbox
from storage.sandbox.job import MIB, Answer, Fault, Job, Limits, SqlRefusedError

if TYPE_CHECKING:
    from storage.lake.config import LakeConfig

# One at once: the first second or two go to the catalogue, and files come over the network.
LIMITS = Limits(seconds=60.0, memory_bytes=1024 * MIB, at_once=1, wait_s=30.0)


class LakeSandbox(Sandbox):
    """The same questions of all machines' runs; `ask` may be called from any thread."""

    module = "storage.sandbox.lake"

    def __init__(self, settings: Settings, run: RunProcess, limits: Limits = LIMITS) -> None:
        super().__init__(settings, run, limits)

    @property
    def is_configured(self) -> bool:
        """Whether there is a lake.toml."""
        return self.settings.lake_path.exists()

    def ask(self, sql: str) -> Answer:
        """The rows of one SELECT over the lake; raises SqlRefusedError with one sentence."""
        try:
            return super().ask(sql)
        except RuntimeError as bug:
            raise RuntimeError(self._reading().hide(str(bug))) from None

    def job(self, sql: str) -> Job:
        """A statement over the lake; raises SqlRefusedError where none is configured for reading."""
        return replace(super().job(sql), lake=self._reading().model_dump_json())

    def _reading(self) -> LakeConfig:
        from storage.lake.config import LakeError, needed_config  # without a lake nothing of it is loaded

        try:
            return needed_config(self.settings).to_read()
        except LakeError as error:
            raise SqlRefusedError(Fault.UNAVAILABLE, str(error).partition("\n")[0]) from None
