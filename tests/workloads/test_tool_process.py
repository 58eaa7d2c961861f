"""A driven tool: its arguments, the reading of its output, and its end. The tools here are stand-ins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from redaction import SERVER_API_KEY
from tests.demo_engine import ROOT
from tests.e2e.pitwall_process import wait_until
from tests.workloads.test_driven import job_of
from workloads.process.bfcl_launcher import first_cases
from workloads.process.external_tool_commands import BFCL_LAUNCHER, environment
from workloads.process.external_tools import TOOLS, commands_of
from workloads.process.prepare import COMMAND_LINE

BAR = "\r 12%|█▎        | 1/8 [00:01<00:08,  1.15s/it]\r 62%|██████▎   | 5/8 [00:02<00:01,  2.41it/s]"
SAID = {  # as the tools of these versions wrote it
    "llama-benchy": "  Warmup (batch size 4)...\n  Run 1/3 (batch size 4)...\n  Run 2/3 (batch size 4)...\n",
    "vllm-bench": BAR,
    "sglang-bench": BAR,
    "guidellm": "Benchmark 1 (concurrent@4): compile | elapsed=7.8s | successful=5 errored=0 incomplete=0",
    "aiperf": "Warmup: 4/4 |\rProfiling: 4/8 |\x1b[32m█████     \x1b[0m|  50% [00:01<00:01]\rProcessing Records: 0/8 |",
    "lm-eval": "100%|████| 20/20 [00:00<00:00, 9k/s]\rRequesting API:  35%|███▌      | 7/20 [00:02<00:04]",
    "bfcl": "Generating results for m:  33%|███▎      | 1/3 [00:01<00:02,  1.16s/it]",
}
TOLD = {
    "llama-benchy": (1, 3), "vllm-bench": (5, 8), "sglang-bench": (5, 8), "guidellm": (5, None), "aiperf": (4, 8),
    "lm-eval": (7, 20), "bfcl": (1, 3),
}  # fmt: skip
WAITS = "import pathlib, sys, time; pathlib.Path('is-up').touch(); print('Run 2/3 (batch', flush=True); time.sleep(600)"


@pytest.mark.parametrize("tool", TOOLS)
def test_progress_is_read_of_what_the_tool_says(tool: str) -> None:
    assert TOOLS[tool].parse_progress(SAID[tool]) == TOLD[tool]
    assert TOOLS[tool].parse_progress("Loading the tokenizer ...") is None


def test_local_folder_needs_no_hub(tmp_path: Path) -> None:
    def of(tool: str, tokenizer: str) -> dict[str, str]:
        actual_environment = environment(
            job_of(tmp_path, tool, tokenizer=tokenizer), {SERVER_API_KEY: "k", "HF_HUB_OFFLINE": "0"}
        )
        return {
            name: actual_environment[name]
            for name in ("HF_HUB_OFFLINE", "OPENAI_API_KEY")
            if name in actual_environment
        }

    assert of("guidellm", "/opt/tok") == {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "k"}
    assert of("guidellm", "org/name") == {"HF_HUB_OFFLINE": "0", "OPENAI_API_KEY": "k"}
    assert of("aiperf", "/opt/tok") == {"OPENAI_API_KEY": "k"}


def test_bfcl_requests_first_cases_of_category(tmp_path: Path) -> None:
    job = job_of(tmp_path, "bfcl", tasks="multiple, irrelevance=5", limit=2)
    generate, evaluate = commands_of(job)
    assert generate[:5] == ["/opt/python", str(BFCL_LAUNCHER), "20", "multiple=2,irrelevance=5", "generate"]
    assert "--run-ids" in generate and "--test-category" not in generate
    assert evaluate[4] == "evaluate" and evaluate[evaluate.index("--test-category") + 1] == "multiple,irrelevance"
    command = commands_of(job_of(tmp_path, "bfcl", tasks="multiple"))[0]
    assert command[3] == "all" and "--run-ids" not in command
    mixed = commands_of(job_of(tmp_path, "bfcl", tasks="simple_python,multi_turn=240"))[0]
    assert mixed[3] == "simple_python,multi_turn=240" and "--run-ids" in mixed
    assert environment(job, {})["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    with pytest.raises(ValidationError, match="'multiple=few' is not a task with a number of items"):
        job_of(tmp_path, "bfcl", tasks="multiple=few")


def test_bfcl_first_cases_follow_its_own_order() -> None:
    """FAKE: what is used of bfcl_eval.utils."""
    groups = {"live": ["live_multiple", "live_simple"]}
    entries = {
        "simple": [{"id": f"simple_{n}"} for n in (2, 0, 1)],
        "live_multiple": [{"id": f"live_multiple_{n}-{n}-0"} for n in range(3)],
        "live_simple": [{"id": f"live_simple_{n}-{n}-0"} for n in range(3)],
        "memory": [{"id": "memory_prereq_0"}, {"id": "memory_0", "depends_on": ["memory_prereq_0"]}],
    }
    utils = SimpleNamespace(
        parse_test_category_argument=lambda names: groups.get(names[0], names),
        load_dataset_entry=entries.get, sort_key=lambda entry: entry["id"],
    )  # fmt: skip
    assert first_cases("simple=2,live=3,memory=1", utils) == {
        "simple": ["simple_0", "simple_1"],
        "live_multiple": ["live_multiple_0-0-0", "live_multiple_1-1-0"],
        "live_simple": ["live_simple_0-0-0"],
        "memory": ["memory_prereq_0", "memory_0"],
    }
    assert first_cases("simple", utils) == {"simple": ["simple_0", "simple_1", "simple_2"]}
    assert first_cases("live=1", utils) == {"live_multiple": ["live_multiple_0-0-0"]}


def test_bfcl_gets_an_unlisted_model(tmp_path: Path) -> None:
    """FAKE: a package that has what is used of bfcl_eval."""
    files = {
        "constants/default_prompts.py": "MAXIMUM_STEP_LIMIT = 20",
        "constants/model_config.py": "MODEL_CONFIG_MAPPING = {}\nModelConfig = dict",
        "model_handler/api_inference/openai_completion.py": "OpenAICompletionsHandler = 'chat'",
        "__main__.py": "from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING as known\n"
        "def cli(): print({name: one['model_handler'] for name, one in known.items()})",
    }
    for name, text in files.items():
        path = tmp_path / "bfcl_eval" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    argv = [sys.executable, str(BFCL_LAUNCHER), "20", "all", "generate", "--model", "own/model"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    stdout = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout
    assert stdout.strip() == "{'own/model': 'chat'}"


@pytest.mark.parametrize("has_written", [True, False])
def test_cancelled_tool_submits_its_output(tmp_path: Path, has_written: bool) -> None:
    tool = tmp_path / "tool"
    writes = "import pathlib; pathlib.Path('results/progress.jsonl').write_text('{}')\n" if has_written else ""
    tool.write_text(f"#!{sys.executable}\n{writes}{WAITS}\n")
    tool.chmod(0o700)
    spec = tmp_path / "job.json"
    spec.write_text(job_of(tmp_path, executable=str(tool)).model_dump_json())
    driver = subprocess.Popen([sys.executable, str(COMMAND_LINE), "drive", str(spec)], cwd=ROOT)
    try:
        wait_until(lambda: progress_of(tmp_path).get("done") == 1, 60)
        driver.send_signal(signal.SIGUSR1)
        assert progress_of(tmp_path)["total"] == 3
        driver.terminate()
        assert driver.wait(60) == 0
    finally:
        driver.kill()
    assert progress_of(tmp_path)["state"] == "cancelled"
    handed = [json.loads(path.read_text()) for path in (tmp_path / "inbox").glob("*.job.json")]
    assert [(one["run"], one["is_cut"]) for one in handed] == ([("r-1", True)] if has_written else [])
    assert (tmp_path / "is-up").exists()


def progress_of(folder: Path) -> dict[str, Any]:
    path = folder / "progress.json"
    fields: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return fields
