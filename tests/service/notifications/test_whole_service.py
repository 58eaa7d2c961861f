"""A server that really fails under a whole service reaches a real receiver, once, with its cause."""

from __future__ import annotations

import pytest

from domain import Config, RunState
from launcher.checks.launch_request import LaunchRequest
from service.core import opened_core
from service.notifications import notifier
from settings import Settings
from tests.launcher.servers import wait_for, wait_for_state
from tests.ports import free_ports
from tests.service.notifications.test_delivery import NOW, channel_to, running_receiver


@pytest.mark.wide
def test_failed_server_notifies(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_EVERY_S", 0.2)
    argv = ("/bin/sh", "-c", "echo 'RuntimeError: CUDA out of memory' >&2; exit 3")
    with running_receiver() as receiver, opened_core(settings) as core:
        core.notifier.channels.add(channel_to(receiver.url, added_at=NOW))
        wait_for(lambda: "hook" in core.notifier.states)
        run = core.supervisor.launch(LaunchRequest(Config(argv=argv, port=free_ports(1)[0]), "arm one"))
        wait_for_state(core.store, run.id, RunState.FAILED)
        wait_for(lambda: receiver.requests)
        (body,) = [body for _, body in receiver.requests]
        assert body["kind"] == "server_failed" and body["text"].startswith("arm one: ")
        assert body["link"].endswith(f"/run?run={run.id}")
