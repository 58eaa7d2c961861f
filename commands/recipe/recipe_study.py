"""A recipe as a study: its server is the one arm, its blocks are the loads that one start of it serves."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping

from pydantic import ValidationError

from commands.recipe.lines import Entry, Remarks, items, mapping, read_yaml, text_of, whole
from commands.recipe.quality import Tools, accuracy_loads, tool_call_loads
from commands.recipe.speed import speed_loads
from commands.study_file import ArmText, Budget, StudyFile, StudyFileError, StudyPlan, plan_of
from commands.study_workloads import WorkloadText

_MARK = re.compile(r"^vllm:[ \t]*(#.*)?$", re.MULTILINE)
SERVER_FIELDS = ("model", "image", "env", "serve_args")
BLOCKS = ("vllm_bench", "lm_eval", "bfcl")
OF_THEIR_CI = {
    "gpu": "it chooses a machine of perf-eval's CI and its profile's environment: here it is this machine as it is.",
    "num_gpus": "it reserves GPUs of perf-eval's CI: here the server sees what it is given.",
    "nightly": "it is a schedule of perf-eval's CI.",
}
HERE = Tools()
FEWEST_STARTS = 2  # one start shows nothing of how much starts differ


def is_recipe(text: str) -> bool:
    """Whether a text is a recipe of perf-eval rather than a study of ours."""
    return _MARK.search(text) is not None


def study_of_recipe(text: str, name: str, tools: Tools = HERE, without: Collection[str] = ()) -> StudyPlan:
    """The plan of a recipe; raises StudyFileError that names all that cannot be expressed, each with its line.

    without: blocks, or '<block>.<config, task or category>', that whoever asks leaves out.
    """
    whole_file, remarks = read_yaml(text, name), Remarks()
    given, left_out = mapping(whole_file, name), frozenset(without)
    _check_left_out(given, left_out)
    arm = _arm(given, remarks)
    for key, one in given.items():
        if key in OF_THEIR_CI:
            remarks.note(key, one.line, OF_THEIR_CI[key])
        elif key not in ("name", "vllm", "timeout_in_minutes", *BLOCKS):
            remarks.refuse(key, one.line, "perf-eval knows no such field.")
    loads = _loads(given, tools, left_out, remarks)
    if remarks.refused:
        raise StudyFileError(f"{name} is not begun. It cannot be expressed: {' '.join(remarks.refused)}")
    if not loads:
        raise StudyFileError(f"{name} has no load: none of {', '.join(BLOCKS)} is left.")
    return _plan(given, arm, loads, name).model_copy(update={"notes": tuple(remarks.notes)})


def _check_left_out(given: Mapping[str, Entry], left_out: frozenset[str]) -> None:
    for one in left_out:
        block = one.partition(".")[0]
        if block not in BLOCKS or block not in given:
            there = ", ".join(key for key in BLOCKS if key in given)
            raise StudyFileError(f"{one!r} cannot be left out: the recipe has {there or 'none of the blocks'}.")


def _arm(given: Mapping[str, Entry], remarks: Remarks) -> ArmText:
    block = given.get("vllm")
    server = mapping(block, "vllm")
    line = block.line if block else 1
    for key, entry in server.items():
        if key not in SERVER_FIELDS:
            remarks.refuse(f"vllm.{key}", entry.line, "perf-eval knows no such field.")
    model = text_of(server.get("model"), "vllm.model", line)
    asked = server["serve_args"].value if "serve_args" in server else ""
    env = {key: _word(one) for key, one in mapping(server.get("env"), "vllm.env").items()}
    words = [model, *str(asked or "").split()]  # as perf-eval splits them: at blanks, whatever quotes there are
    title = str(given["name"].value) if "name" in given else model
    if "image" not in server:
        return ArmText(name=title[:80], command=shlex.join(["vllm", "serve", *words]), env=env)
    image = text_of(server["image"], "vllm.image", line)
    named = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
    run = ["docker", "run", "--rm", "--gpus", "all", "--ipc", "host", "--network", "host", *named, image]
    return ArmText(name=title[:80], command=shlex.join([*run, *words]))


def _word(entry: Entry) -> str:
    if isinstance(entry.value, dict | list) or entry.value is None:
        raise StudyFileError(f"vllm.env, line {entry.line}: one word is expected.")
    return str(entry.value)


def _loads(given: Mapping[str, Entry], tools: Tools, left_out: frozenset[str], remarks: Remarks) -> list[WorkloadText]:
    """Speed first, as perf-eval does."""
    here = {key: given.get(key) for key in BLOCKS}
    for key in left_out & frozenset(BLOCKS):
        remarks.note(key, given[key].line, "it is left out, as asked for.")
        here[key] = None
    loads: list[tuple[WorkloadText, str, int]] = []
    for config in _configs(here["vllm_bench"], remarks):
        title = text_of(mapping(config, "vllm_bench").get("name"), "vllm_bench.configs.name", config.line)
        name = f"vllm_bench.{title}"
        if name in left_out:
            remarks.note(name, config.line, "it is left out, as asked for.")
            continue
        _note_repetitions(config, name, remarks)
        loads += [(one, name, config.line) for one in speed_loads(config, name, remarks)]
    for key, read in (("lm_eval", accuracy_loads), ("bfcl", tool_call_loads)):
        block = here[key]
        loads += [(one, key, block.line if block else 0) for one in read(block, key, tools, left_out, remarks)]
    kinds = Counter(one.name for one, _, _ in loads)
    return [one if kinds[one.name] == 1 else _labelled(one, name) for one, name, _ in loads]


def _labelled(load: WorkloadText, name: str) -> WorkloadText:
    """Beside another of its kind it is called by the part of the recipe: 'grid 8k-in-1k-out', 'lm-eval gsm8k'."""
    part = str(load.params.get("tasks") or name.partition(".")[2])
    return load.model_copy(update={"label": f"{load.name.removeprefix('drive:')} {part}"[:80]})


def _configs(block: Entry | None, remarks: Remarks) -> list[Entry]:
    given = mapping(block, "vllm_bench")
    for key, entry in given.items():
        if key == "metadata":
            remarks.note("vllm_bench.metadata", entry.line, "it labels rows of perf-eval's dashboard.")
        elif key != "configs":
            remarks.refuse(f"vllm_bench.{key}", entry.line, "perf-eval knows no such field.")
    return items(given.get("configs"), "vllm_bench.configs")


def _note_repetitions(config: Entry, name: str, remarks: Remarks) -> None:
    if entry := mapping(config, name).get("repetitions"):
        words = "they are repeats on one server; here each is a server start of its own, for starts differ too."
        remarks.note(f"{name}.repetitions", entry.line, words)


def _plan(given: Mapping[str, Entry], arm: ArmText, loads: list[WorkloadText], name: str) -> StudyPlan:
    minutes = given.get("timeout_in_minutes")
    hours = whole(minutes, "timeout_in_minutes") / 60 if minutes else None
    configs = items(mapping(given.get("vllm_bench"), "vllm_bench").get("configs"), "vllm_bench.configs")
    asked = [mapping(one, "vllm_bench").get("repetitions") for one in configs]
    starts = max([FEWEST_STARTS, *(whole(one, "repetitions") for one in asked if one)])
    try:
        budget = Budget(runs=starts, rounds=starts, hours=hours)
        file = StudyFile(question="measure", title=arm.name, budget=budget, arm=[arm], workload=loads)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise StudyFileError(f"{name}, {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    return plan_of(file, name)
