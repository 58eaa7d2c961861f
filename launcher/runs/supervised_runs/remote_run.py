"""State machine of a run on another machine: a launched run whose state comes from its client's record."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from domain import RunState
from launcher.checks.launch_request import port_of
from launcher.processes.end_processes import EndedProcess
from launcher.processes.process import ProcessExit, ProcessStatus, process_status, start_shim
from launcher.remote.agent_line import SERVER
from launcher.remote.orders import RemoteExit
from launcher.remote.records import RemoteStatus, read_remote_launch, read_remote_status
from launcher.remote.stopping import stop_remote
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.teardown import StopResult
from machine.identity import machine_id
from machine.ports import describe_busy_port, is_port_free

RESTART_CLIENT_S = 10.0
ANSWERS = "{} answers again."
UNHEARD = "exit code unknown: the connection to {} was lost"
NOT_ASKED = "The connection to {} ended before its server was started."


@dataclass
class RemoteRun(LaunchedRun):
    """A run on another machine; only its client, a process of its own, waits for ssh."""

    _trouble: str | None = None
    _server_pid: int | None = None
    _client_due_s: float = 0.0  # monotonic

    def step(self) -> None:
        """Check once, and make the due state change."""
        status = read_remote_status(self.directory)
        self._note_status(status)
        if self._needs_client(status):
            return self._restart_client()
        return super().step()

    def _needs_client(self, status: RemoteStatus) -> bool:
        """Whether the client is gone while its server may live: it was killed, or this machine restarted."""
        is_open = status.is_asked and status.exit is None and status.refusal is None
        is_wanted = is_open and self.run.state is not RunState.STOPPING
        return is_wanted and process_status(self.directory).state == "ended"

    def _restart_client(self) -> None:
        if self.deps.mono_s() < self._client_due_s:
            return
        self._client_due_s = self.deps.mono_s() + RESTART_CLIENT_S
        for name in ("exit.json", "shim.json", "descendants.json"):
            (self.directory / name).unlink(missing_ok=True)
        self._shim = start_shim(self.directory, self.secrets)
        self.deps.state_log.note(self.run.id, "warning", f"Reconnecting to {self.run.on_host}.")

    def _note_status(self, status: RemoteStatus) -> None:
        """Record the reported provenance and server, each once, and whether the machine answers."""
        provenance = self.run.provenance or {}
        if status.about and "host" not in provenance:
            machine = status.about.machine
            if machine.id != (own_id := machine_id()):  # else the host is this machine, which reports itself
                self.deps.save_machine(replace(machine, reported_by=own_id))
            frozen = {**status.about.provenance, **provenance}
            self._change(f"provenance on {self.run.on_host} recorded", machine_id=machine.id, provenance=frozen)
        if status.server and status.server.pid != self._server_pid:
            self._server_pid = status.server.pid
            sentence = SERVER.format(status.server.pid, self.run.on_host)
            self.deps.state_log.note(self.run.id, "state", sentence, state=self.run.state.value)
        for sentence in status.passed:
            self._notes.report_limit(self.run.id, sentence)
        if status.trouble != self._trouble:
            self._trouble = status.trouble
            sentence = status.trouble or ANSWERS.format(self.run.on_host)
            self.deps.state_log.note(self.run.id, "warning", sentence)
            self._change(sentence, note=sentence)

    def _status(self) -> ProcessStatus:
        """Return the server's status, as far as it was reported."""
        status, client = read_remote_status(self.directory), process_status(self.directory, self._shim)
        if status.exit:
            return ProcessStatus("ended", started_at=status.exit.started_at, exit=_exit_of(status.exit))
        if status.refusal:
            return ProcessStatus("ended", exit=ProcessExit(None, None, status.refusal, None))
        started_at = status.server.started_at if status.server else None
        if client.state == "ended":  # the client's own exit says nothing about the server
            template = UNHEARD if status.is_asked else NOT_ASKED
            unseen = ProcessExit(None, None, template.format(self.run.on_host), None)
            return ProcessStatus("ended", started_at=started_at, exit=unseen)
        if client.state == "alive":
            return ProcessStatus("alive" if status.server else "starting", started_at=started_at)
        return client

    def _spec(self) -> Mapping[str, Any]:
        config = read_remote_launch(self.directory).run.config
        return {"argv": list(config.argv), "env": config.env}

    def _read_provenance(self) -> None:
        """Do nothing: the other machine reports the provenance."""

    def _port_obstacle(self) -> str | None:
        """Check the local forwarded port; the other machine checks the server's port before the start."""
        assert self.run.base_url
        port = port_of(self.run.base_url)
        is_free = read_remote_launch(self.directory).forward is None or is_port_free(port)
        return None if is_free else describe_busy_port(port)

    def _stop_everything(self) -> Future[StopResult | None]:
        """Stop on a thread of its own: hosts that hang must not exhaust the pool."""
        future: Future[StopResult | None] = Future()
        run, grace_s = self.run, self.deps.stop_grace_s

        def stop() -> None:
            future.set_result(self._attempt(lambda: stop_remote(run, grace_s)))

        Thread(target=stop, name=f"stop-{run.id}", daemon=True).start()
        return future


def _exit_of(end: RemoteExit) -> ProcessExit:
    leftovers = tuple(EndedProcess(process.pid, process.name, process.signal) for process in end.left)
    return ProcessExit(end.exit_code, end.signal, end.cause, end.ended_at, leftovers)
