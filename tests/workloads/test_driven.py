"""Other tools, driven: the command that is run, and what becomes of its results. The tool here is a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.demo_engine import ROOT
from workloads.process.drive_job import DriveJob, DriveParams
from workloads.process.external_tools import TOOLS, command_of, drive_params, tool_of
from workloads.process.prepare import COMMAND_LINE

WRITES = "import pathlib, sys; out = sys.argv[sys.argv.index('--save-result') + 1]; pathlib.Path(out).write_text('{}')"
TOOL = {"writes": WRITES, "fails": "import sys; sys.exit('no server')", "writes-nothing": "pass"}


def job_of(folder: Path, tool: str = "llama-benchy", **params: object) -> DriveJob:
    fields = {"executable": "/opt/tool", **params}
    return DriveJob(
        run_id="r-1", base_url="http://127.0.0.1:9", model="m", tool=tool, params=drive_params(fields), folder=folder,
        progress=folder / "progress.json", inbox=folder / "inbox",
    )  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_command_names_tool_server_and_user_args(tool: str, tmp_path: Path) -> None:
    words = command_of(job_of(tmp_path, tool, tasks="gsm8k", more=("--seed", "3")))
    assert words[0] == ("/opt/python" if tool == "bfcl" else "/opt/tool")
    assert words[-2:] == ["--seed", "3"]
    assert tool == "bfcl" or any("127.0.0.1:9" in word for word in words)
    assert tool == "bfcl" or any(str(tmp_path / "results") in word for word in words)
    assert tool_of(TOOLS[tool].workload) is TOOLS[tool]


def test_lm_eval_sends_text_without_tokenizer(tmp_path: Path) -> None:
    def model_args(**params: object) -> str:
        words = command_of(job_of(tmp_path, "lm-eval", tasks="t", **params))
        return words[words.index("--model_args") + 1]

    text = ",tokenizer_backend=None,tokenized_requests=False"
    assert model_args(endpoint="completions").endswith(text)
    own = "tokenizer_backend=huggingface,tokenizer=/tok"
    actual_model_args = model_args(endpoint="completions", model_args=own)
    assert actual_model_args.endswith(own) and text not in actual_model_args
    assert text not in model_args()
    assert {"endpoint", "model_args"} < set(TOOLS["lm-eval"].fields)


def test_benchy_takes_lists_of_lengths(tmp_path: Path) -> None:
    words = " ".join(command_of(job_of(tmp_path, prompt_token_counts=["512", "2048"], output_token_counts=[32, 128])))
    assert "--pp 512 2048 --tg 32 128 --exact-tg" in words
    stored = " ".join(command_of(job_of(tmp_path, prompt_tokens=300, output_tokens=50)))
    assert "--pp 300 --tg 50 --exact-tg" in stored, "a load of an earlier version"
    with pytest.raises(ValidationError):
        DriveParams.model_validate({"executable": "x", "prompt_token_counts": []})


def test_what_is_no_parameter_is_refused() -> None:
    with pytest.raises(ValidationError):
        DriveParams.model_validate({"executable": ""})
    assert tool_of("five-prompts") is None
    assert tool_of("drive:nothing") is None


@pytest.mark.parametrize(("kind", "status", "said"), [
    ("writes", 0, ""), ("fails", 1, "no server"), ("writes-nothing", 1, "left no results"),
])  # fmt: skip
def test_results_are_submitted_where_present(tmp_path: Path, kind: str, status: int, said: str) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!{sys.executable}\n{TOOL[kind]}\n")
    tool.chmod(0o700)
    spec = tmp_path / "job.json"
    spec.write_text(job_of(tmp_path, executable=str(tool)).model_dump_json())
    process = subprocess.run(
        [sys.executable, str(COMMAND_LINE), "drive", str(spec)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (process.returncode, said in process.stdout + process.stderr) == (status, True)
    handed = [json.loads(path.read_text()) for path in (tmp_path / "inbox").glob("*.job.json")]
    assert all(one["asked"].keys() == set(TOOLS["llama-benchy"].fields) for one in handed)
    assert all(one["command"][0] == str(tool) and "--exact-tg" in one["command"] for one in handed)
    assert [(one["run"], Path(one["path"]).name) for one in handed] == ([("r-1", "results")] if not status else [])


TELLS = """import os, sys, time, pathlib
key = os.environ["OPENAI_API_KEY"]
assert "SERVER_API_KEY" not in os.environ
for piece in ("my key is " + key[:5], key[5:] + " and ", key, " and a part " + key[:7]):
    sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.05)
pathlib.Path(sys.argv[sys.argv.index('--save-result') + 1]).write_text('{}')"""


def test_key_reaches_tool_only_by_environment(tmp_path: Path) -> None:
    key = "sk-of-the-server-0123456789"
    tool = tmp_path / "tool"
    tool.write_text(f"#!{sys.executable}\n{TELLS}\n")
    tool.chmod(0o700)
    spec = tmp_path / "job.json"
    spec.write_text(job_of(tmp_path, executable=str(tool)).model_dump_json())
    argv = [sys.executable, str(COMMAND_LINE), "drive", str(spec)]
    environ = {**os.environ, "SERVER_API_KEY": key}
    process = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == "my key is <secret> and <secret> and a part " + key[:7]
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_tool_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    spec = tmp_path / "job.json"
    spec.write_text(job_of(tmp_path, executable="/nowhere/tool").model_dump_json())
    process = subprocess.run(
        [sys.executable, str(COMMAND_LINE), "drive", str(spec)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (process.returncode, "/nowhere/tool cannot be started" in process.stderr) == (1, True)
