"""Parameters of an agent task: what is refused, and how placeholders and the environment are filled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cli.main import main
from workloads import full_params, spec_for
from workloads.agent_tasks.task_environment import agent_environment, secrets_to_mask
from workloads.agent_tasks.task_params import AgentTaskParams, filled

VALUES = {"base_url": "http://127.0.0.1:1", "key": "k-recorder", "model": "m", "folder": "/copy"}


def params(**changes: Any) -> dict[str, Any]:
    return {"agent": ["agent", "{model}"], "check": ["true"], "folder": "/tasks/parser"} | changes


@pytest.mark.parametrize(("changes", "why"), [
    ({"folder": "tasks"}, "absolute path"),
    ({"agent": []}, "at least 1 item"),
    ({"agent": ["agent", "--api-key", "sk-live-0123456789abcdef"]}, "holds a secret"),
    ({"env": {"OTHER_API_KEY": "0123456789abcdef"}}, "holds a secret"),
    ({"env": {"BAD NAME": "1"}}, "match pattern"),
    ({"task": "two\nlines"}, "no line breaks"),
    ({"shell": True}, "Extra inputs"),
])  # fmt: skip
def test_wrong_parameters_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        AgentTaskParams.model_validate(params(**changes))


def test_keys_are_written_as_placeholders() -> None:
    agent = ["agent", "--api-key", "{key}", '{"url": "{base_url}/v1"}', "{folder}"]
    valid = AgentTaskParams.model_validate(params(agent=agent, env={"X_API_KEY": "{key}"}))
    assert filled(valid.agent, VALUES) == [
        "agent",
        "--api-key",
        "k-recorder",
        '{"url": "http://127.0.0.1:1/v1"}',
        "/copy",
    ]
    assert agent_environment(valid, {}, VALUES)["X_API_KEY"] == "k-recorder"
    assert spec_for("agent-task", params()).params == full_params("agent-task", params())


def test_environment_has_no_secret_but_the_requested_ones() -> None:
    inherited = {
        "PATH": "/bin", "SERVER_API_KEY": "s", "PITWALL_SECRET_0": "p", "HF_TOKEN": "h", "GITHUB_TOKEN": "g-0123456789",
        "PITWALL_RUN_ID": "r/workload", "ANTHROPIC_API_KEY": "real",
    }  # fmt: skip
    valid = AgentTaskParams.model_validate(params(pass_env=["GITHUB_TOKEN"]))
    environ = agent_environment(valid, inherited, VALUES)
    assert {"SERVER_API_KEY", "PITWALL_SECRET_0", "HF_TOKEN"}.isdisjoint(environ)
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY")
    assert {environ[name] for name in names} == {"k-recorder"}
    assert (environ["PITWALL_RUN_ID"], environ["OPENAI_BASE_URL"]) == ("r/workload", "http://127.0.0.1:1/v1")
    assert secrets_to_mask(valid, inherited, "s", None) == ["s", "g-0123456789"]


def test_task_command_deletes_copies_and_names_bad_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "data"))
    copy = tmp_path / "data/runs/r1/workload/agent-1/folder"
    copy.mkdir(parents=True)
    (copy / "file").write_bytes(b"123")
    assert main(["task", "delete", "r1"]) == 0 and capsys.readouterr().out == "Deleted 3 bytes of 1 repeats.\n"
    assert main(["task", "delete", "../r1"]) == 1 and "has no folder here" in capsys.readouterr().err
    (tmp_path / "task.toml").write_text('agent = "claude -p"\nfolder = "."\ncheck = ["true"]')
    assert main(["task", "start", "r1", str(tmp_path / "task.toml")]) == 1
    assert "task.toml, agent: " in capsys.readouterr().err
