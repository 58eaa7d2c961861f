"""Runs statements on the lake in a sandboxed process, with the read-only role and key of lake.toml."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from settings import Settings
from storage.sandbox.client import RunProcess, Sandbox
from storage.sandbox.job import MIB, Fault, SandboxJob, SandboxLimits, SqlAnswer, SqlRefusedError

if TYPE_CHECKING:
    from storage.lake.config import LakeConfig

# One at a time: the catalogue takes the first second or two, and files come over the network.
LIMITS = SandboxLimits(seconds=60.0, memory_bytes=1024 * MIB, at_once=1, wait_s=30.0)


class LakeSandbox(Sandbox):
    """Runs statements on the runs of all machines; thread-safe."""

    module = "storage.sandbox.lake"

    def __init__(self, settings: Settings, run: RunProcess, limits: SandboxLimits = LIMITS) -> None:
        super().__init__(settings, run, limits)

    @property
    def is_configured(self) -> bool:
        """Whether there is a lake.toml."""
        return self.settings.lake_path.exists()

    def ask(self, sql: str) -> SqlAnswer:
        """Return the rows of one SELECT on the lake; raises SqlRefusedError with one sentence."""
        try:
            return super().ask(sql)
        except RuntimeError as bug:
            raise RuntimeError(self._read_only_config().hide(str(bug))) from None

    def job(self, sql: str) -> SandboxJob:
        """A statement on the lake; raises SqlRefusedError without a read-only configuration."""
        return replace(super().job(sql), lake=self._read_only_config().model_dump_json())

    def _read_only_config(self) -> LakeConfig:
        from storage.lake.config import LakeError, required_config  # loaded only with a lake

        try:
            return required_config(self.settings).read_only_config()
        except LakeError as error:
            raise SqlRefusedError(Fault.UNAVAILABLE, str(error).partition("\n")[0]) from None
