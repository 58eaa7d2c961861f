"""Recipes carried to their scores: bfcl by a stand-in for it, a whole recipe on a server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo_engine import ROOT
from tests.studies.recipe.recipes import RECIPE, read
from workloads.process.drive_job import DriveJob
from workloads.process.external_tool_commands import environment
from workloads.process.external_tools import commands_of, drive_params

FAKE_BFCL = """
import os, pathlib, shutil, sys
def cli():
    told = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    from bfcl_eval.constants import default_prompts, model_config
    assert told["--model"] in model_config.MODEL_CONFIG_MAPPING and default_prompts.MAXIMUM_STEP_LIMIT == 10
    root = pathlib.Path(os.environ["BFCL_PROJECT_ROOT"])
    kind = {"generate": "result", "evaluate": "score"}[sys.argv[1]]
    with open(root.parent / "calls", "a") as said:
        print(sys.argv[1], told["--test-category"], os.environ["OPENAI_BASE_URL"], file=said)
    shutil.copytree(pathlib.Path(os.environ["CAPTURED"]) / kind, root / kind)
    sys.exit(0)
"""


def test_bfcl_is_carried_to_its_scores(tmp_path: Path) -> None:
    """By a stand-in for the package bfcl_eval, which leaves the files that the real one left in a captured run."""
    package = tmp_path / "bfcl_eval"
    for folder in (package, package / "constants", package / "model_handler", package / "model_handler/api_inference"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (package / "constants/default_prompts.py").write_text("MAXIMUM_STEP_LIMIT = 20\n")
    (package / "constants/model_config.py").write_text("MODEL_CONFIG_MAPPING = {}\nModelConfig = dict\n")
    (package / "model_handler/api_inference/openai_completion.py").write_text("OpenAICompletionsHandler = object\n")
    (package / "__main__.py").write_text(FAKE_BFCL)
    params = drive_params(read().per_workload()[2].params | {"executable": sys.executable})
    results = tmp_path / "load" / "results"
    job = DriveJob(run_id="r", base_url="http://h:1", model="m", tool="bfcl", params=params, folder=results.parent,
                   progress=tmp_path, inbox=tmp_path)  # fmt: skip
    captured = ROOT / "tests/captures/bfcl/oracle"
    results.mkdir(parents=True)
    env = environment(job, {"PYTHONPATH": str(tmp_path), "CAPTURED": str(captured)})
    for command in commands_of(job):
        subprocess.run(command, env=env, check=True, capture_output=True)
    lines = (results.parent / "calls").read_text().splitlines()
    assert lines == [f"{word} simple_python,multi_turn http://h:1/v1" for word in ("generate", "evaluate")]
    assert len(list(results.rglob("*_score.json"))) == len(list(results.rglob("*_result.json"))) == 3


STAND_IN = """#!{python}
import sys
sys.path.insert(0, {root!r})
from demo import paced
words = dict(zip(sys.argv[3::2], sys.argv[4::2]))
sys.exit(paced.main(["--port", words["--port"], "--step-ms", "5"]))
"""
LM_EVAL = """#!{python}
import json, pathlib, shutil, sys, time
out = pathlib.Path(sys.argv[sys.argv.index("--output_path") + 1]) / "m"
shutil.copytree({captured!r}, out)
for path in out.glob("results_*.json"):  # as each run of the real one differs from the last
    path.write_text(json.dumps(json.loads(path.read_text()) | {{"date": time.time()}}))
"""


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_recipe_is_run_to_its_numbers(tmp_path: Path) -> None:
    """Stand-ins: a server of 5 ms a token, and an lm-eval that leaves a captured run's files: 16 and 5 of 20 right."""
    from tests.ports import free_ports
    from tests.studies.test_study_run import COMMAND_LINE

    captured = str(ROOT / "tests/captures/lm-eval/oracle-chat")
    program(tmp_path, "vllm", STAND_IN.format(python=sys.executable, root=str(ROOT)))
    lm_eval = program(tmp_path, "lm_eval", LM_EVAL.format(python=sys.executable, captured=captured))
    small = RECIPE.replace("8192", "20").replace("1024", "40").replace("num_prompts: 512", "num_prompts: 8")
    small = small.replace("max_concurrency: 128", "max_concurrency: 2").replace("num_warmups: 128", "num_warmups: 2")
    small = small.replace("repetitions: 3", "repetitions: 1").replace(
        "--kv-cache-dtype fp8", f"--kv-cache-dtype fp8 --port {free_ports(1)[0]}"
    )
    file = tmp_path / "recipe.yaml"
    file.write_text(small)
    words = ["study", "run", str(file), "--json", "--without", "bfcl", "--lm-eval", str(lm_eval)]
    env = {"PITWALL_DATA": str(tmp_path / "data"), "PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, str(COMMAND_LINE), *words], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.stdout, process.stderr
    document = json.loads(process.stdout)
    assert (process.returncode, document["answer"], document["runs"]) == (0, "measured", 2), document
    speed, accuracy = document["workloads"]
    assert speed["arms"][0]["mean"] == pytest.approx(2 / 0.005, rel=0.5)  # two streams of 5 ms a token, on a busy box
    assert accuracy["arms"][0]["values"] == [pytest.approx((0.8 + 0.25) / 2)] * 2
    assert any(reason.startswith("bfcl (line") for reason in document["reasons"])
    assert shutil.which("vllm", path=str(tmp_path))
