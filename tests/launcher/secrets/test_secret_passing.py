"""A secret reaches the server, and nothing that is kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from domain import Config, RunState
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, server_argv, wait_for_state
from tests.ports import free_ports

FINAL = (RunState.FINISHED, RunState.FAILED)


def test_secret_reaches_the_server_and_no_storage(supervisor: Supervisor, store: DictStore, tmp_path: Path) -> None:
    script = "import os, sys; print(len(os.environ['HF_TOKEN']), len(sys.argv[2]), 'PITWALL_SECRET' in str(os.environ))"
    argv = (sys.executable, "-c", script, "--api-key", "s3cr3t-in-argv")
    config = Config(argv=argv, env={"HF_TOKEN": "s3cr3t-in-env"}, port=9)
    run = supervisor.launch(LaunchRequest(config))
    wait_for_state(store, run.id, *FINAL)
    assert (tmp_path / "runs" / run.id / "server.log").read_text() == "13 14 False\n"
    text = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "s3cr3t" not in text + repr(store.saved) + repr(store.events)
    assert run.config.argv[-1] == "<secret>" and run.config.env == {"HF_TOKEN": "<secret>"}


def test_secrets_outlive_pitwall_in_shim_memory(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor()
    port = free_ports(1)[0]
    config = Config(argv=(*server_argv(port), "--api-key", "s3cr3t"), port=port)
    run = first.launch(LaunchRequest(config, ready_path="/health"))
    wait_for_state(store, run.id, RunState.READY)
    assert first.api_key(run.id) == "s3cr3t"
    first.close()
    assert make_supervisor().api_key(run.id) == "s3cr3t"


def test_queued_run_without_its_secret_fails(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor()
    first.close()  # so that it stays queued
    run = first.launch(LaunchRequest(Config(argv=("true", "--api-key", "s3cr3t"), port=9)))
    assert store.run(run.id).state is RunState.QUEUED
    make_supervisor()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.cause == "The secret '--api-key' was lost when Pitwall restarted: launch again."


def test_server_gets_secrets_pitwall_keeps_none(supervisor: Supervisor, store: DictStore, tmp_path: Path) -> None:
    words = ("--api-key", "K1-s3cr3t", "K2-s3cr3t", "--db", "https://u:s3cr3t-pass@h/x", "--h", "Bearer s3cr3t-bearer")
    script = "import os, sys; print(ascii([*sys.argv[1:], os.environ['DB']])[::-1])"
    env = {"DB": "postgres://u:s3cr3t-db@h"}
    run = supervisor.launch(LaunchRequest(Config(argv=(sys.executable, "-c", script, *words), env=env, port=9)))
    wait_for_state(store, run.id, *FINAL)
    printed = (tmp_path / "runs" / run.id / "server.log").read_text().strip()
    assert printed == ascii([*words, env["DB"]])[::-1]
    text = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "s3cr3t" not in text + repr(store.saved) + repr(store.events)
    masked = ("--api-key", "<secret>", "<secret>", "--db", "https://u:<secret>@h/x", "--h", "Bearer <secret>")
    assert run.config.argv[3:] == masked and run.config.env == {"DB": "postgres://u:<secret>@h"}


def test_server_never_starts_with_a_placeholder(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    refused = LaunchRequest(Config(argv=("true", "--db", "https://u:<secret>@h"), port=9))
    first = make_supervisor()
    with pytest.raises(LaunchRefusedError, match="does not store the secret '--db https://u:<secret>@h'"):
        first.launch(refused)
    first.close()  # so that the next one stays queued
    run = first.launch(LaunchRequest(Config(argv=("true", "--db", "https://u:s3cr3t-1@h"), port=9)))
    spec = tmp_path / "runs" / run.id / "spec.json"
    spec.write_text(re.sub(r"\$\{PITWALL_SECRET_\d+\}", "<secret>", spec.read_text()))
    store.saved.append(run.model_copy(update={"config": Config(argv=("true",), port=9)}))
    make_supervisor()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.cause == (
        "It was not started: the value of '--db https://u:<secret>@h' is a secret that was not entered. "
        "Launch again and enter it."
    )
