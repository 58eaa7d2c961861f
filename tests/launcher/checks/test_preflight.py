"""Bad input: one clear sentence each, and nothing lost."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from domain import Config, RunState
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.processes.process import environ_of, read_spec, server_process
from launcher.runs.launching import prepare_and_check
from launcher.runs.live_runs import UnknownRunError
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for, server_argv, wait_for, wait_for_state
from tests.ports import free_ports

NO_PODMAN = {"argv": ("podman", "run", "i:1"), "launcher": "podman", "image": "i:1", "env": {"PATH": "/nowhere"}}
URL = "http://127.0.0.1:9"
FINAL = (RunState.FINISHED, RunState.FAILED)


@pytest.mark.parametrize(
    ("config", "fields", "sentence"),
    [
        ({"argv": ()}, {}, "There is no command to run."),
        ({"argv": ("no-such-program",)}, {}, "The executable no-such-program was not found on the PATH: install"),
        ({"argv": ("/no/such/program",)}, {}, "The executable /no/such/program does not exist: install it"),
        (NO_PODMAN, {}, "The executable podman was not found on the PATH: install it"),
        ({"argv": (__file__,)}, {}, f"{__file__} is not executable: allow it"),
        ({"argv": ("true",)}, {"cwd": Path("/no/such/place")}, "The working directory /no/such/place does not exist: "),
        ({"argv": ("true",), "model": "/no/model.gguf"}, {}, "The model /no/model.gguf does not exist: give a path"),
        ({"argv": ("true",), "port": None}, {}, "Pitwall cannot tell where this server will answer: "),
        ({"argv": ("true",)}, {"base_url": "localhost:80"}, "'localhost:80' is not the address of a server. Example: "),
        ({"argv": ("true", "$NOWHERE_SET/model")}, {}, "The command uses $NOWHERE_SET, which is not set: "),
        (
            {"argv": ("true", "--api-key", "<secret>")},
            {},
            "Pitwall does not store the secret '--api-key': please",
        ),
    ],
)
def test_user_fixable_problem_is_a_sentence(
    supervisor: Supervisor, store: DictStore, config: dict[str, Any], fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(LaunchRefusedError) as refusal:
        supervisor.launch(LaunchRequest(Config(**{"port": 9, **config}), **fields))
    assert str(refusal.value).startswith(sentence)
    assert store.saved == []


@pytest.mark.parametrize("name", ["model", "program", "cwd"])
def test_what_may_not_be_looked_at_is_refused(locked: Path, name: str) -> None:
    path = locked / "it"
    config = Config(argv=(str(path) if name == "program" else "true",), model=str(path) if name == "model" else None)
    with pytest.raises(LaunchRefusedError) as refusal:
        prepare_and_check(LaunchRequest(config, base_url=URL, cwd=path if name == "cwd" else None))
    assert str(refusal.value) == f"Pitwall cannot check whether {path} exists: Permission denied."


@pytest.mark.parametrize(
    ("model", "cwd"), [("~nobody-of-this-name/m.gguf", None), (None, Path("~nobody-of-this-name"))]
)
def test_a_home_that_nobody_has_is_refused(model: str | None, cwd: Path | None) -> None:
    with pytest.raises(
        LaunchRefusedError, match=r"The path ~nobody-of-this-name\S* names a home folder that is not known"
    ):
        prepare_and_check(LaunchRequest(Config(argv=("true",), model=model), base_url=URL, cwd=cwd))


def test_a_port_in_use_is_refused_with_its_owner(supervisor: Supervisor) -> None:
    refused = pytest.raises(LaunchRefusedError, match=r"Port \d+ is in use by .*\(pid \d+\)\. Stop it, or")
    with socket.create_server(("127.0.0.1", 0)) as server, refused:
        supervisor.launch(request_for(port=server.getsockname()[1]))


def test_port_promised_to_other_run_is_refused(supervisor: Supervisor, store: DictStore) -> None:
    first = request_for("never-ready")
    run = supervisor.launch(first)
    with pytest.raises(LaunchRefusedError, match=rf"Port {run.config.port} belongs to the run 'never-ready'"):
        supervisor.launch(first)
    same_port = request_for()
    with pytest.raises(LaunchRefusedError, match="belongs to the run"):
        supervisor.launch_batch([same_port, same_port], one_after_the_other=False)
    assert store.runs() == [store.run(run.id)], "all or none"


def test_port_lost_while_queued_fails_the_run(supervisor: Supervisor, store: DictStore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (run,) = supervisor.launch_batch([request_for(port=port)], one_after_the_other=True)
        ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED and ended.cause and ended.cause.startswith(f"Port {port} is in use")
    assert ended.exit_code is None


def test_an_unknown_run_is_told(supervisor: Supervisor) -> None:
    with pytest.raises(UnknownRunError, match="There is no run nonsense"):
        supervisor.stop("nonsense")


def test_unwritable_directory_is_refused(store: DictStore, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("not a folder")
    supervisor = Supervisor(store, tmp_path / "runs", events=store.take)
    with pytest.raises(LaunchRefusedError, match="The run directory cannot be written: Not a directory"):
        supervisor.launch(request_for())
    supervisor.close()
    assert store.saved == []


def test_multi_flag_variable_refused_if_split(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRA_ARGS", "--seed 1 --max-model-len 2048")
    (port,) = free_ports(1)
    config = Config(argv=(*server_argv(port), "$EXTRA_ARGS"), port=port)
    with pytest.raises(LaunchRefusedError, match=r"\$EXTRA_ARGS contains several words"):
        supervisor.launch(LaunchRequest(config))


def test_run_is_expanded_and_storage_verbatim(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MY_SECRET_TOKEN", "sesame-sesame")
    words = ("~/m.gguf", "$WHERE/m.gguf", "${UNSET_HERE:-8}")
    env = {"WHERE": "~", "HF_TOKEN": "$MY_SECRET_TOKEN", "PATH": "$PATH"}
    (port,) = free_ports(1)
    config = Config(argv=(*server_argv(port), *words), model="~/m.gguf", env=env, port=port)
    run = supervisor.launch(LaunchRequest(config))
    assert run.config.argv[-3:] == words and run.config.env == env and run.config.model == "~/m.gguf"
    spec = read_spec(Path(run.run_dir or ""))
    assert spec["argv"][-3:] == [f"{tmp_path}/m.gguf", f"{tmp_path}/m.gguf", "8"]
    assert spec["env"] == {"WHERE": str(tmp_path)}
    server = wait_for(lambda: server_process(Path(run.run_dir or "")))
    assert wait_for(lambda: environ_of(server).get("HF_TOKEN")) == "sesame-sesame"
    assert "sesame" not in run.model_dump_json() + str(spec)
