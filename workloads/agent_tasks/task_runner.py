"""Runs the repeats of an agent task one after another: copy, agent behind a recorder of its own, check."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from analysis.loads.agent_tasks import TaskEnd, TaskRepeat
from domain import utc_now
from errors import PitwallError
from load_records import AGENT_TASK
from machine.folder_removal import remove_tree
from machine.private_files import private_folder
from machine.run_with_timeout import PassedLimitError, read_bounded
from redaction import mask_text
from workloads.agent_tasks.folder_copy import MIB, CopyLimits, FolderCopy, FolderCopyError, copy_folder
from workloads.agent_tasks.limited_process import BoundedLog, CommandEnd, CommandRunner, EndDescendants
from workloads.agent_tasks.task_book import TaskBook, with_requests
from workloads.agent_tasks.task_environment import agent_environment, secrets_to_mask
from workloads.agent_tasks.task_files import AGENT_LOG, CHECK_LOG, COPY, repeat_folder
from workloads.agent_tasks.task_params import AgentTaskParams, filled
from workloads.job import LoadJob, LoadProgress, write_progress
from workloads.process.runner import EXIT_DONE
from workloads.recording.access import RecorderToken, RecordingLimits
from workloads.recording.recorder import RecordedPhase, Recorder
from workloads.recording.relay import upstream_at
from workloads.recording.serve import LOOPBACK, listening, serving

EXIT_REFUSED = 1
VERSION_LIMIT_S, VERSION_BYTES, VERSION_CHARACTERS = 20.0, 65_536, 100
RECORDER_TITLE = "Agent"


class TaskStoppedError(PitwallError):
    """No further repeat makes sense; the message is one sentence."""


@dataclass
class TaskRunner:
    """Runs a task against the server of a job; SIGTERM and SIGINT cancel it. `model`: as the server names it."""

    job: LoadJob
    params: AgentTaskParams
    model: str
    api_key: str | None
    end_descendants: EndDescendants
    say: Callable[[str], None]  # tells the operator why it stopped early
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    load_id: str = field(default_factory=lambda: secrets.token_hex(4))
    folder_digest: str | None = None

    def __post_init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.commands = CommandRunner(self.end_descendants, self.cancelled)
        self.book = TaskBook(self.job, self.params, self.load_id, utc_now)
        self.load_folder = self.job.progress.parent

    async def run(self) -> int:
        """Run all repeats and return the exit status; raises OSError."""
        loop = asyncio.get_running_loop()
        for order in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(order, self.cancelled.set)
        private_folder(self.job.out.parent)
        self._report("running", 0)
        status = EXIT_DONE
        try:
            for number in range(1, self.params.repeats + 1):
                if self.cancelled.is_set():
                    break
                await self._run_repeat(number)
        except (FolderCopyError, TaskStoppedError) as refusal:
            self.say(str(refusal))
            status = EXIT_REFUSED
        self.book.end()
        self._report("cancelled" if self.cancelled.is_set() else "done", len(self.book.repeats))
        return status

    async def _run_repeat(self, number: int) -> None:
        folder = repeat_folder(self.load_folder, number)
        copy = await asyncio.to_thread(self._copy, folder)
        if self.folder_digest is None:
            self.folder_digest = copy.digest
            self.book.begin(copy.digest, await asyncio.to_thread(self._agent_version))
            if copy.left_out:
                self.say(f"Left out of the copies: {_listing(copy.left_out)}.")
        repeat = await self._repeat(number, folder)
        self.book.end_repeat(number, repeat)
        self._report("running", number)

    def _copy(self, folder: Path) -> FolderCopy:
        """Copy the task's folder; raises TaskStoppedError if it is not the one that the first repeat had."""
        if folder.exists():  # of a load that was killed before it wrote anything
            remove_tree(folder)
        limits = CopyLimits(self.params.copy_mib * MIB, self.params.copy_files)
        copy = copy_folder(Path(self.params.folder), folder / COPY, limits)
        if self.folder_digest not in (None, copy.digest):
            raise TaskStoppedError(f"{self.params.folder} has changed since the first repeat.")
        return copy

    async def _repeat(self, number: int, folder: Path) -> TaskRepeat:
        agent, repeat = await self._run_agent(number, folder)
        if agent.start_error:
            self._stop(number, replace(repeat, end=TaskEnd.AGENT_NOT_STARTED), f"The agent: {agent.start_error}")
        if agent.is_late or agent.is_cancelled:
            return replace(repeat, end=TaskEnd.LATE if agent.is_late else TaskEnd.CANCELLED)
        check = await self._run_check(folder)
        repeat = replace(repeat, check_exit_code=check.exit_code, check_s=round(check.seconds, 3))
        if check.start_error:
            self._stop(number, replace(repeat, end=TaskEnd.CHECK_NOT_STARTED), f"The check: {check.start_error}")
        return replace(repeat, end=_end_of(check))

    def _stop(self, number: int, repeat: TaskRepeat, reason: str) -> NoReturn:
        """Record a repeat whose command cannot be started; raises TaskStoppedError, since no other could be."""
        self.book.end_repeat(number, repeat)
        raise TaskStoppedError(f"{mask_text(reason)}. No further repeat was tried.")

    async def _run_agent(self, number: int, folder: Path) -> tuple[CommandEnd, TaskRepeat]:
        """Run the agent behind a recorder with a key of its own, which ends with it."""
        limits = RecordingLimits(duration_s=self.params.time_limit_s + 60.0)
        token = RecorderToken(time.monotonic, time.monotonic() + limits.duration_s)
        phase = RecordedPhase(AGENT_TASK, f"Repeat {number}", number - 1, RECORDER_TITLE)
        with listening(0) as sock:
            port = sock.getsockname()[1]
            values = self._placeholders(f"http://{LOOPBACK}:{port}", token.value, folder)
            async with upstream_at(self.job.base_url, self.api_key, limits, time.monotonic) as upstream:
                recorder = Recorder(
                    self.job.run_id, self.job.out, upstream, token, limits, load_id=self.load_id, phase=phase
                )
                recorder.start_clock()
                async with serving(recorder, sock):
                    log = self._log(folder / AGENT_LOG, token.value)
                    environ = agent_environment(self.params, self.inherited, values)
                    argv = filled(self.params.agent, values)
                    end = await self.commands.run(argv, folder / COPY, environ, self.params.time_limit_s, log)
                recorder.end_phase(is_complete=not end.is_cancelled)
        repeat = TaskRepeat(
            end=TaskEnd.CANCELLED,
            exit_code=end.exit_code,
            agent_s=round(end.seconds, 3),
            ended_processes=end.ended_processes,
        )
        return end, with_requests(repeat, recorder.records)

    async def _run_check(self, folder: Path) -> CommandEnd:
        """Run the check, which gets no key: the recorder has ended."""
        values = self._placeholders("", "", folder)
        environ = agent_environment(self.params, self.inherited, values)
        log = self._log(folder / CHECK_LOG)
        argv = filled(self.params.check, values)
        return await self.commands.run(argv, folder / COPY, environ, self.params.check_limit_s, log)

    def _log(self, path: Path, *keys: str) -> BoundedLog:
        secret_values = secrets_to_mask(self.params, self.inherited, self.api_key, *keys)
        return BoundedLog(path, self.params.output_kib * 1024, secret_values)

    def _placeholders(self, base_url: str, key: str, folder: Path) -> dict[str, str]:
        return {"base_url": base_url, "key": key, "model": self.model, "folder": str(folder / COPY)}

    def _agent_version(self) -> str | None:
        """Return the first line that the version command prints; None without one. Raises TaskStoppedError."""
        if not self.params.version:
            return None
        values = self._placeholders("", "", self.load_folder)
        environ = agent_environment(self.params, self.inherited, values)
        try:
            output = read_bounded(self.params.version, VERSION_LIMIT_S, VERSION_BYTES, environ)
        except (OSError, PassedLimitError) as error:
            raise TaskStoppedError(f"The agent's version cannot be read: {error}.") from error
        finally:
            self.end_descendants()
        if output is None:
            raise TaskStoppedError("The agent's version cannot be read: its command failed.")
        line = next(iter(output.decode(errors="replace").splitlines()), "")
        return mask_text("".join(filter(str.isprintable, line)))[:VERSION_CHARACTERS] or None

    def _report(self, state: str, repeat_count: int) -> None:
        now: datetime = utc_now()
        current = min(repeat_count + 1, self.params.repeats)
        progress = LoadProgress(
            run_id=self.job.run_id, workload=AGENT_TASK, state=state, phase=f"repeat {current}", done=repeat_count,
            total=self.params.repeats, errors=sum(repeat.is_solved is False for repeat in self.book.repeats),
            updated_at=now.isoformat(),
        )  # fmt: skip
        write_progress(self.job.progress, progress)


def _end_of(check: CommandEnd) -> TaskEnd:
    if check.is_cancelled:
        return TaskEnd.CANCELLED
    if check.is_late:
        return TaskEnd.CHECK_LATE
    return TaskEnd.SOLVED if check.exit_code == 0 else TaskEnd.CHECK_FAILED


def _listing(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
