"""Recipes of vLLM's perf-eval as studies: what is taken, and what is refused by its name and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.recipe.quality import QualityTools
from commands.recipe.recipe_study import is_recipe
from commands.study_file import StudyFileError
from tests.studies.recipe.recipes import RECIPE, read
from tests.studies.test_study_file import WHICH
from workloads import spec_for
from workloads.process.drive_job import DriveJob
from workloads.process.external_tools import command_of, drive_params


def line_of(text: str, word: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), start=1) if word in line)


def test_one_server_start_serves_all_blocks() -> None:
    plan = read()
    (arm,) = plan.arms
    assert arm.config.argv == ("vllm", "serve", "org/tiny", "--tensor-parallel-size", "2", "--kv-cache-dtype", "fp8")
    assert (arm.config.engine, arm.config.tensor_parallel, arm.config.env) == ("vllm", 2, {"VLLM_ROCM_USE_AITER": "1"})
    assert (plan.question, plan.title, plan.budget.rounds, plan.budget.runs) == ("measure", "tiny-h200", 3, 3)
    assert plan.budget.hours == 1.5
    rows = [(part.workload, part.objective) for part in plan.per_workload()]
    assert rows == [("grid", "output_tps@128"), ("drive:lm-eval", "accuracy"), ("drive:bfcl", "accuracy")]
    speed, accuracy, calls = (part.params for part in plan.per_workload())
    assert speed == {
        "endpoint": "completions", "prompt_tokens": [8192], "output_tokens": [1024], "concurrency": [128], "repeats": 4,
    }  # fmt: skip
    assert accuracy["model_args"] == "tokenized_requests=False,tokenizer_backend=None,max_length=32768"
    assert (accuracy["concurrency"], accuracy["more"]) == (64, ["--num_fewshot", "5"])
    assert (calls["tasks"], calls["concurrency"], calls["most_steps"]) == ("simple_python,multi_turn", 16, 10)
    for part in plan.per_workload():
        spec_for(part.workload, part.params)  # each is a load that can be


def test_lm_eval_is_asked_as_perf_eval_asks_it(tmp_path: Path) -> None:
    params = drive_params(read().per_workload()[1].params)
    job = DriveJob(run_id="r", base_url="http://h:1", model="m", tool="lm-eval", params=params, folder=tmp_path,
                   progress=tmp_path, inbox=tmp_path)  # fmt: skip
    words = command_of(job)
    assert words[0] == "/opt/lm_eval" and "--apply_chat_template" not in words
    assert words[words.index("--model") + 1] == "local-completions"
    assert words[words.index("--model_args") + 1] == (
        "model=m,base_url=http://h:1/v1/completions,num_concurrent=64,max_retries=5,"
        "tokenized_requests=False,tokenizer_backend=None,max_length=32768"
    )
    assert words[-2:] == ["--num_fewshot", "5"]


def test_deviations_are_listed_with_their_line() -> None:
    notes = "\n".join(read().notes)
    for name, word in (
        ("gpu", "gpu: H200"), ("num_gpus", "num_gpus"), ("nightly", "nightly"),
        ("vllm_bench.8k-in-1k-out.dataset", "dataset"), ("vllm_bench.8k-in-1k-out.repetitions", "repetitions"),
    ):  # fmt: skip
        assert f"{name} (line {line_of(RECIPE, word)}): " in notes


def test_an_image_is_a_container() -> None:
    plan = read(RECIPE.replace("  model: org/tiny", "  model: org/tiny\n  image: vllm/vllm-openai:nightly"))
    assert plan.arms[0].config.argv[:2] == ("docker", "run") or plan.arms[0].config.launcher == "docker"
    assert plan.arms[0].config.image == "vllm/vllm-openai:nightly"


SWEEP = RECIPE.replace("num_prompts: 512", "num_prompts: [10, 512]").replace("max_concurrency: 128", "max_concurrency: [1, 128]")  # fmt: skip  # noqa: E501


def test_a_sweep_is_a_grid_and_one_load_beside_it() -> None:
    speed = [(part.workload, part.params["concurrency"], part.objective) for part in read(SWEEP).per_workload()[:2]]
    assert speed == [("grid", [128], "output_tps@128"), ("traffic", 1, "decode_tps")]
    alike = SWEEP.replace("[10, 512]", "[4, 512]")
    assert read(alike).per_workload()[0].params["concurrency"] == [1, 128]


@pytest.mark.parametrize(
    ("there", "instead", "name"),
    [
        ("dataset: random", "dataset: speed_bench", "vllm_bench.8k-in-1k-out.dataset"),
        ("backend: openai", "backend: openai-audio", "vllm_bench.8k-in-1k-out.backend"),
        (
            "      args:",
            "      assertions:\n        mean_tpot_ms: 3",
            "vllm_bench.8k-in-1k-out.assertions.mean_tpot_ms",
        ),
        ("nightly: true", "aiperf: {configs: []}", "aiperf"),
        ("nightly: true", "serving: {version: 1}", "serving"),
        ("num_warmups: 128", "request_rate: 4", "vllm_bench.8k-in-1k-out.args.request-rate"),
        ("input_len: 8192", "in_len: 8192", "vllm_bench.8k-in-1k-out.in_len"),
        ("num_threads: 16", "max_calls: 240", "bfcl.max_calls"),
        ("max_length: 32768", "gen_kwargs: 'a=1,b=2'", "lm_eval.gsm8k.model_args.gen_kwargs"),
        ("nightly: true", "colour: red", "colour"),
        ("  model: org/tiny", "  model: org/tiny\n  tag: x", "vllm.tag"),
    ],
)
def test_inexpressible_part_is_named_and_stops(there: str, instead: str, name: str) -> None:
    text = RECIPE.replace(there, instead)
    line = line_of(text, instead.splitlines()[-1].strip())
    with pytest.raises(StudyFileError) as refusal:
        read(text)
    assert f"{name} (line {line}): " in str(refusal.value)


def test_all_that_cannot_be_is_told_at_once() -> None:
    text = RECIPE.replace("dataset: random", "dataset: sharegpt").replace("num_threads: 16", "max_calls: 9")
    with pytest.raises(StudyFileError) as refusal:
        read(text, tools=QualityTools())
    for word in ("dataset (line", "bfcl.max_calls (line", "`--bfcl PYTHON`"):
        assert word in str(refusal.value)


def test_unlike_tasks_become_separate_loads() -> None:
    second = "\n    - name: aime25\n      num_fewshot: 0\n"
    text = RECIPE.replace("        max_length: 32768\n", f"        max_length: 32768{second}")
    parts = read(text).per_workload()
    rows = [(part.workload_title, part.params.get("tasks")) for part in parts[1:3]]
    assert rows == [("lm-eval gsm8k", "gsm8k"), ("lm-eval aime25", "aime25")]
    plan = read(text, "lm_eval.aime25")
    assert [part.workload_title for part in plan.per_workload()] == ["grid", "drive:lm-eval", "drive:bfcl"]
    assert any(note.startswith("lm_eval.aime25 (line") for note in plan.notes)


def test_same_kind_configs_are_called_by_name() -> None:
    config = RECIPE[RECIPE.index("    - name: 8k-in-1k-out") :]
    other_text = config.replace("8k-in-1k-out", "1k-in-1k-out").replace("input_len: 8192", "input_len: 1024")
    parts = read(RECIPE + other_text).per_workload()
    rows = [(part.workload_title, part.params["prompt_tokens"]) for part in parts[:2]]
    assert rows == [("grid 8k-in-1k-out", [8192]), ("grid 1k-in-1k-out", [1024])]


def test_user_can_omit_a_block_or_part() -> None:
    limited = RECIPE.replace("num_threads: 16", "max_test_cases:\n    multi_turn: 240")
    assert read(limited).per_workload()[2].params["tasks"] == "simple_python,multi_turn=240"
    every = RECIPE.replace("num_threads: 16", "max_test_cases: 9")
    assert read(every).per_workload()[2].params["tasks"] == "simple_python=9,multi_turn=9"
    plan = read(limited, "bfcl.multi_turn")
    assert plan.per_workload()[2].params["tasks"] == "simple_python"
    assert len(read(limited, "bfcl", tools=QualityTools()).per_workload()) == 2
    assert len(read(RECIPE + "aiperf:\n  configs: []\n", "aiperf").per_workload()) == 3
    with pytest.raises(StudyFileError, match="'smoke' cannot be left out: the recipe has vllm_bench, lm_eval, bfcl"):
        read(RECIPE, "smoke")
    with pytest.raises(StudyFileError, match="has no load"):
        read(RECIPE, "bfcl", "lm_eval", "vllm_bench")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vllm:\n  model: [", "is not valid YAML, line"),
        ("vllm: &a\n  model: m\nbfcl: *a\n", "has an alias"),
        ("name: a\nname: b\nvllm:\n", "line 2: name is a duplicate key"),
        ("vllm:\n  model: m\nlm_eval: 3\n", "lm_eval, line 3: expected a mapping"),
        ("name: x\nvllm:\n  env: {}\n", "vllm.model, line 2: a text is missing"),
        ("- vllm:\n", "is not a recipe"),
        (RECIPE.replace("input_len: 8192", "input_len: many"), "expected a whole number of at least 1"),
    ],
)
def test_what_is_no_recipe_is_said_so(text: str, said: str) -> None:
    with pytest.raises(StudyFileError, match=said):
        read(text)


def test_a_study_of_ours_is_none() -> None:
    assert is_recipe(RECIPE) and is_recipe("vllm:  # the server\n") and not is_recipe(WHICH)


def test_backends_are_arms_compared_by_speed() -> None:
    text = RECIPE.replace(
        "  serve_args", "  attention_backends:\n    - FLASH_ATTN\n    - default\n  pin_image: true\n  serve_args"
    )
    plan = read(text, "lm_eval", "bfcl")
    assert (plan.question, plan.title, plan.budget.runs, plan.budget.rounds) == ("which", "tiny-h200", 6, 3)
    assert [arm.name for arm in plan.arms] == ["tiny-h200 FLASH_ATTN", "tiny-h200 default"]
    assert plan.arms[0].config.argv[-2:] == ("--attention-backend", "FLASH_ATTN")
    assert "--attention-backend" not in plan.arms[1].config.argv
    assert any(note.startswith("vllm.pin_image (line") for note in plan.notes)
    with pytest.raises(StudyFileError, match=r"lm_eval \(line \d+\): several backends .* bfcl \(line"):
        read(text)
    single = read(RECIPE.replace("  serve_args", "  moe_backends: [AITER]\n  serve_args"))
    assert single.question == "measure" and single.arms[0].config.argv[-2:] == ("--moe-backend", "AITER")
    both = text.replace("  pin_image: true", "  moe_backends: [AITER]")
    with pytest.raises(StudyFileError, match=r"vllm.moe_backends \(line \d+\): perf-eval allows it only without"):
        read(both, "lm_eval", "bfcl")


def test_bounds_are_named_and_not_checked() -> None:
    bounds = "      assertions:\n        mean_tpot_ms: {max: 2.5}\n        output_throughput: {min: 100, max: 900}\n"
    text = RECIPE.replace("      args:", f"{bounds}      args:").replace("backend: openai", "backend: vllm")
    plan = read(text)
    assert plan.per_workload()[0].params["endpoint"] == "completions"
    notes = "\n".join(plan.notes)
    for metric, words in (("mean_tpot_ms", "at most 2.5"), ("output_throughput", "at least 100 and at most 900")):
        line = line_of(text, metric)
        assert f"vllm_bench.8k-in-1k-out.assertions.{metric} (line {line}): a study checks no bounds" in notes
        assert words in notes


def test_speed_bench_is_refused_with_its_part() -> None:
    part = "dataset: speed_bench\n      speed_bench_dataset_subset: throughput_8k\n      speed_bench_category: mixed"
    with pytest.raises(StudyFileError) as refusal:
        read(RECIPE.replace("dataset: random", part))
    assert "'speed_bench' (speed_bench_dataset_subset throughput_8k, speed_bench_category mixed)" in str(refusal.value)
    unused = part.replace("dataset: speed_bench", "dataset: random")
    notes = "\n".join(read(RECIPE.replace("dataset: random", unused)).notes)
    assert "speed_bench_category (line" in notes and "does not use it" in notes
