"""The state machine of a run on another machine: a launched run that reads its state from its client's record."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from domain import RunState
from launcher.checks.preflight import port_of
from launcher.processes.ending import Ended
from launcher.processes.process import ProcessExit, ProcessStatus, look_at, start_shim
from launcher.remote.agent_line import SERVER
from launcher.remote.orders import Exit
from launcher.remote.records import Known, read_asked, read_known
from launcher.remote.stopping import stop_remote
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervised_runs.teardown import Stopped
from machine.identity import machine_id
from machine.ports import describe_busy_port, is_port_free

CLIENT_AGAIN_S = 10.0
ANSWERS = "{} answers again."
NOT_HEARD = "exit code unknown: {} was not heard of any more"
NOT_ASKED = "The connection to {} was ended before its server was started."


@dataclass
class RemoteRun(LaunchedRun):
    """Nothing here waits for ssh: the client does, in a process of its own."""

    _trouble: str | None = None
    _server_pid: int | None = None
    _client_due_s: float = 0.0  # monotonic

    def step(self) -> None:
        """Look once, and do what is due."""
        known = read_known(self.directory)
        self._note_known(known)
        if self._is_let_go(known):
            return self._take_up()
        return super().step()

    def _is_let_go(self, known: Known) -> bool:
        """Whether the client is gone while its server may live: it was killed, or this machine was restarted."""
        is_open = known.is_asked and known.exit is None and known.refusal is None
        is_wanted = is_open and self.run.state is not RunState.STOPPING
        return is_wanted and look_at(self.directory).state == "ended"

    def _take_up(self) -> None:
        if self.deps.mono_s() < self._client_due_s:
            return
        self._client_due_s = self.deps.mono_s() + CLIENT_AGAIN_S
        for name in ("exit.json", "shim.json", "descendants.json"):
            (self.directory / name).unlink(missing_ok=True)
        self._shim = start_shim(self.directory, self.secrets)
        self.deps.recorder.note(self.run.id, "warning", f"The connection to {self.run.on_host} is taken up again.")

    def _note_known(self, known: Known) -> None:
        """What was reported of the machine and its server, once; and whether the machine answers."""
        provenance = self.run.provenance or {}
        if known.about and "host" not in provenance:
            machine = known.about.machine
            if machine.id != (here := machine_id()):  # this machine reports of itself
                self.deps.save_machine(replace(machine, told_by=here))
            frozen = {**known.about.provenance, **provenance}
            self._change(f"what it runs on {self.run.on_host} is noted", machine_id=machine.id, provenance=frozen)
        if known.server and known.server.pid != self._server_pid:
            self._server_pid = known.server.pid
            words = SERVER.format(known.server.pid, self.run.on_host)
            self.deps.recorder.note(self.run.id, "state", words, state=self.run.state.value)
        for words in known.passed:
            self._notes.passed(self.run.id, words)
        if known.trouble != self._trouble:
            self._trouble = known.trouble
            words = known.trouble or ANSWERS.format(self.run.on_host)
            self.deps.recorder.note(self.run.id, "warning", words)
            self._change(words, note=words)

    def _status(self) -> ProcessStatus:
        """How the server over there is, as far as it was reported."""
        known, here = read_known(self.directory), look_at(self.directory, self._shim)
        if known.exit:
            return ProcessStatus("ended", started_at=known.exit.started_at, exit=_exit_of(known.exit))
        if known.refusal:
            return ProcessStatus("ended", exit=ProcessExit(None, None, known.refusal, None))
        started_at = known.server.started_at if known.server else None
        if here.state == "ended":  # the client: its own exit says nothing of the server
            words = NOT_HEARD if known.is_asked else NOT_ASKED
            unseen = ProcessExit(None, None, words.format(self.run.on_host), None)
            return ProcessStatus("ended", started_at=started_at, exit=unseen)
        if here.state == "alive":
            return ProcessStatus("alive" if known.server else "starting", started_at=started_at)
        return here

    def _spec(self) -> Mapping[str, Any]:
        config = read_asked(self.directory).run.config
        return {"argv": list(config.argv), "env": config.env}

    def _freeze(self) -> None:
        """It is reported by the machine that it runs on."""

    def _port_obstacle(self) -> str | None:
        """Over there it is looked at before the start; here it is the port that leads there."""
        assert self.run.base_url
        port = port_of(self.run.base_url)
        is_free = read_asked(self.directory).forward is None or is_port_free(port)
        return None if is_free else describe_busy_port(port)

    def _stop_everything(self) -> Future[Stopped | None]:
        """On a thread of its own: hosts that hang must not use up those of the other runs."""
        future: Future[Stopped | None] = Future()
        run, grace_s = self.run, self.deps.stop_grace_s

        def stop() -> None:
            future.set_result(self._attempt(lambda: stop_remote(run, grace_s)))

        Thread(target=stop, name=f"stop-{run.id}", daemon=True).start()
        return future


def _exit_of(end: Exit) -> ProcessExit:
    left = tuple(Ended(one.pid, one.name, one.signal) for one in end.left)
    return ProcessExit(end.exit_code, end.signal, end.cause, end.ended_at, left)
