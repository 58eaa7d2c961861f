"""The file of a study: what it may say, and the sentence that names the place of what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.study_file import StudyFileError, StudyPlan, study_of_text, text_of_file

WHICH = """
question = "which"
smallest_difference = 0.03
[budget]
runs = 12
[[arm]]
name = "a"
command = "vllm serve o/m --port 8001"
[[arm]]
name = "b"
engine = "vllm"
command = "python my_server.py --port 8002"
[[workload]]
name = "five-prompts"
[workload.params]
token_scale = 0.25
"""


def plan(tmp_path: Path, text: str) -> StudyPlan:
    file = tmp_path / "question.toml"
    file.write_text(text)
    return study_of_text(text_of_file(file), file.stem)


def test_the_least_that_a_file_holds(tmp_path: Path) -> None:
    actual_plan = plan(tmp_path, WHICH)
    assert (actual_plan.question, actual_plan.title, actual_plan.margin, actual_plan.budget.runs) == (
        "which",
        "question",
        0.03,
        12,
    )
    assert [(arm.name, arm.config.engine, arm.config.port) for arm in actual_plan.arms] == [
        ("a", "vllm", 8001),
        ("b", "vllm", 8002),
    ]
    assert actual_plan.arms[1].config.argv == ("python", "my_server.py", "--port", "8002")
    assert (actual_plan.workload, actual_plan.params) == ("five-prompts", {"token_scale": 0.25})
    assert StudyPlan.model_validate_json(actual_plan.model_dump_json()) == actual_plan


def test_a_field_is_varied(tmp_path: Path) -> None:
    text = WHICH.replace('"which"', '"value"').replace(WHICH[WHICH.index('[[arm]]\nname = "b"') :], "")
    command = 'vllm serve o/m --port 8001 --speculative-config \'{\\\\"method\\\\": \\\\"ngram\\\\", '
    command += '\\\\"num_speculative_tokens\\\\": 2, \\\\"prompt_lookup_max\\\\": 4}\''
    text = text.replace("vllm serve o/m --port 8001", command.replace("\\\\", "\\"))
    text += '[[workload]]\nname = "ladder"\n[[vary]]\nfield = "speculative.num_tokens"\nvalues = [2, 4, 6]\n'
    actual_plan = plan(tmp_path, text)
    assert [arm.name for arm in actual_plan.arms] == ["num_tokens 2", "num_tokens 4", "num_tokens 6"]
    assert [arm.config.speculative.num_tokens for arm in actual_plan.arms if arm.config.speculative] == [2, 4, 6]


ONE_ARM = WHICH.replace('"which"', '"value"').replace(WHICH[WHICH.index('[[arm]]\nname = "b"') :], "")
ONE_ARM += '[[workload]]\nname = "ladder"\n'


@pytest.mark.parametrize(
    ("field", "values", "text", "read"),
    [
        ("gpu_memory_utilization", "[0.5, 0.9]", "gpu_memory_fraction", [0.5, 0.9]),
        ("max_model_len", '"2048, 4096"', "max_model_len", [2048, 4096]),
        ("max_num_seqs", '"2..4, none"', "max_num_seqs", [2, 3, 4, None]),
    ],
)
def test_field_takes_own_or_engine_name(tmp_path: Path, field: str, values: str, text: str, read: list[object]) -> None:
    actual_plan = plan(tmp_path, f'{ONE_ARM}[[vary]]\nfield = "{field}"\nvalues = {values}\n')
    assert [getattr(arm.config, text) for arm in actual_plan.arms] == read
    assert (actual_plan.vary[0].field, actual_plan.vary[0].values) == (text, read)
    assert StudyPlan.model_validate_json(actual_plan.model_dump_json()) == actual_plan


@pytest.mark.parametrize(
    ("vary", "sentence"),
    [
        ('field = "bogus"\nvalues = [1, 2]', "There is no field bogus"),
        ('field = "argv"\nvalues = [1, 2]', "There is no field argv"),
        ('field = "max_num_seqs"\nvalues = ["many", 2]', "many is not a value for max_num_seqs"),
        ('field = "max_num_seqs"\nvalues = [2, 2]', "takes 2 to 32 values that differ"),
        ('field = "max_num_seqs"\nvalues = "4"', "takes 2 to 32 values that differ"),
        ('field = "max_num_seqs"\nvalues = "1..40"', "takes 2 to 32 values that differ"),
        ('field = "num_speculative_tokens"\nvalues = [1, 2]', "the configuration has no speculation"),
    ],
)
def test_a_value_that_cannot_be_said_is_refused(tmp_path: Path, vary: str, sentence: str) -> None:
    with pytest.raises(StudyFileError, match=sentence):
        plan(tmp_path, f"{ONE_ARM}[[vary]]\n{vary}\n")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('question = "which"', 'question = "why"', "question: Input should be"),
        ('name = "b"', 'name = "a"', "two arms have the same name"),
        ('question = "which"', 'question = "load"', "'load' needs the workload 'knee'"),
        ('name = "b"', 'name = "  "', "arm.1.name: a name needs visible characters"),
        ('name = "b"', 'name = "b\\u202e"', "arm.1.name: a name needs visible characters"),
        ('question = "which"', f'question = "which"\nseed = {1 << 63}', "seed: Input should be less"),
        ("runs = 12", "runs = 1", "budget.runs: Input should be greater"),
        ("[[workload]]", "[[workloads]]", "workload: Input should be a valid list"),
        ('engine = "vllm"\n', "", "command of arm 'b' cannot be read"),
        ("smallest_difference = 0.03", "smallest_difference = 2", "smallest_difference: Input should be less"),
        ('question = "which"', 'question = "value"', "'value' needs one arm"),
        ('question = "which"', "question = ", "is not valid TOML"),
        ('question = "which"', f'question = "which"\nseed = {"9" * 5000}', "a number that is too long"),
        ('question = "which"', f'question = "which"\nseed = {"[" * 5000}', "nested too deeply"),
        (
            'question = "which"',
            'question = "which"\nready_timeout_s = inf',
            "ready_timeout_s: Input should be a finite",
        ),
        ('"python my_server.py --port 8002"', '"  "', "command of arm 'b' cannot be read"),
        ('question = "which"', 'question = "which"\nobjective = "speed"', "There is no objective 'speed'"),
        ('question = "which"', 'question = "which"\nobjective = "users_held"', "There is no objective 'users_held'"),
        ('name = "five-prompts"', 'name = "five-prompts"\nobjective = "ttft_ms"', "There is no objective 'ttft_ms'"),
    ],
)
def test_unusable_part_is_refused_with_its_place(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(StudyFileError, match=sentence):
        plan(tmp_path, WHICH.replace(old, new, 1))


def test_a_file_that_is_too_large_is_none(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match="larger than the 1 MiB limit"):
        plan(tmp_path, "#" * (1 << 20) + "\n" + WHICH)
