"""Reads a recipe as a study: its server is an arm per backend, its blocks are the loads of each start."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pydantic import ValidationError

from commands.recipe.lines import RecipeEntry, RecipeRemarks, items, mapping, read_yaml, text_of, whole_number
from commands.recipe.quality import QualityTools, accuracy_loads, tool_call_loads
from commands.recipe.speed import speed_loads
from commands.study_file import ArmText, Budget, Question, StudyFile, StudyFileError, StudyPlan, plan_of
from commands.study_workloads import WorkloadText

_MARK = re.compile(r"^vllm:[ \t]*(#.*)?$", re.MULTILINE)
BACKENDS = {"attention_backends": "--attention-backend", "moe_backends": "--moe-backend"}
DEFAULT_BACKEND = "default"  # no flag: the engine chooses
SERVER_FIELDS = ("model", "image", "pin_image", "env", "serve_args", *BACKENDS)
BLOCKS = ("vllm_bench", "lm_eval", "bfcl", "aiperf")
NOT_RUN = {
    "aiperf": "a study does not run AIPerf: `--without aiperf` leaves it out.",
    "serving": "a study starts one server, not the roles of a disaggregated deployment.",
}
CI_FIELDS = {
    "gpu": "it selects a machine of perf-eval's CI and its environment; here this machine is used unchanged.",
    "num_gpus": "it reserves GPUs of perf-eval's CI; here the server sees the GPUs it is given.",
    "nightly": "it is a schedule of perf-eval's CI.",
}
TOOL_LOADS = {"lm_eval": "drive:lm-eval", "bfcl": "drive:bfcl"}
DEFAULT_TOOLS = QualityTools()
MIN_STARTS = 2  # a single start does not show the spread of starts


def is_recipe(text: str) -> bool:
    """Whether a text is a perf-eval recipe rather than a Pitwall study."""
    return _MARK.search(text) is not None


def study_of_recipe(
    text: str, name: str, tools: QualityTools = DEFAULT_TOOLS, without: Collection[str] = ()
) -> StudyPlan:
    """Return the plan of a recipe; raises StudyFileError that lists everything that cannot be expressed, with lines.

    without: blocks, or '<block>.<config, task or category>', to leave out.
    """
    document, remarks = read_yaml(text, name), RecipeRemarks()
    fields, left_out = mapping(document, name), frozenset(without)
    _check_left_out(fields, left_out)
    arms = _arms(fields, remarks)
    for key, entry in fields.items():
        if key in CI_FIELDS:
            remarks.note(key, entry.line, CI_FIELDS[key])
        elif key in NOT_RUN and key not in left_out:
            remarks.refuse(key, entry.line, NOT_RUN[key])
        elif key not in ("name", "vllm", "timeout_in_minutes", *BLOCKS):
            remarks.refuse(key, entry.line, "perf-eval knows no such field.")
    loads = _loads(fields, tools, left_out, remarks)
    _check_objectives(arms, loads, fields, remarks)
    if remarks.refused:
        raise StudyFileError(
            f"{name} was not started, because it cannot be expressed as a study: {' '.join(remarks.refused)}"
        )
    if not loads:
        raise StudyFileError(f"{name} has no load: none of {', '.join(BLOCKS)} is left.")
    return _plan(fields, arms, loads, name).model_copy(update={"notes": tuple(remarks.notes)})


def _check_left_out(fields: Mapping[str, RecipeEntry], left_out: frozenset[str]) -> None:
    for excluded in left_out:
        block = excluded.partition(".")[0]
        if block not in BLOCKS or block not in fields:
            blocks = ", ".join(key for key in BLOCKS if key in fields)
            raise StudyFileError(f"{excluded!r} cannot be left out: the recipe has {blocks or 'none of the blocks'}.")


def _arms(fields: Mapping[str, RecipeEntry], remarks: RecipeRemarks) -> list[ArmText]:
    """The server, once for each backend that the recipe lists."""
    server = mapping(fields.get("vllm"), "vllm")
    for key, entry in server.items():
        if key not in SERVER_FIELDS:
            remarks.refuse(f"vllm.{key}", entry.line, "perf-eval knows no such field.")
    listed = [key for key in BACKENDS if key in server]
    if len(listed) > 1:
        remarks.refuse(f"vllm.{listed[1]}", server[listed[1]].line, f"perf-eval allows it only without {listed[0]}.")
    if "pin_image" in server:
        remarks.note("vllm.pin_image", server["pin_image"].line, "the recipe's image is used in any case.")
    if not listed:
        return [_arm(fields)]
    key = listed[0]
    backends = [text_of(entry, f"vllm.{key}", entry.line) for entry in items(server[key], f"vllm.{key}")]
    if not backends:
        remarks.refuse(f"vllm.{key}", server[key].line, "the list is empty.")
        return [_arm(fields)]
    flags = {backend: [] if backend == DEFAULT_BACKEND else [BACKENDS[key], backend] for backend in backends}
    return [_arm(fields, backend, words) for backend, words in flags.items()]


def _check_objectives(
    arms: Sequence[ArmText], loads: Sequence[WorkloadText], fields: Mapping[str, RecipeEntry], remarks: RecipeRemarks
) -> None:
    """Refuse accuracy for several backends: a study compares arms by their speed."""
    if len(arms) < 2:
        return
    for block in ("lm_eval", "bfcl"):
        if block in fields and any(load.name == TOOL_LOADS[block] for load in loads):
            reason = f"several backends are compared by their speed: `--without {block}` leaves it out."
            remarks.refuse(block, fields[block].line, reason)


def _arm(fields: Mapping[str, RecipeEntry], backend: str = "", flags: Sequence[str] = ()) -> ArmText:
    block = fields.get("vllm")
    server = mapping(block, "vllm")
    line = block.line if block else 1
    model = text_of(server.get("model"), "vllm.model", line)
    serve_args = server["serve_args"].value if "serve_args" in server else ""
    env = {key: _word(entry) for key, entry in mapping(server.get("env"), "vllm.env").items()}
    words = [model, *str(serve_args or "").split(), *flags]  # split at spaces as in perf-eval, ignoring quotes
    title = str(fields["name"].value) if "name" in fields else model
    title = f"{title[: 79 - len(backend)]} {backend}" if backend else title
    if "image" not in server:
        return ArmText(name=title[:80], command=shlex.join(["vllm", "serve", *words]), env=env)
    image = text_of(server["image"], "vllm.image", line)
    env_flags = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
    run = ["docker", "run", "--rm", "--gpus", "all", "--ipc", "host", "--network", "host", *env_flags, image]
    return ArmText(name=title[:80], command=shlex.join([*run, *words]))


def _word(entry: RecipeEntry) -> str:
    if isinstance(entry.value, dict | list) or entry.value is None:
        raise StudyFileError(f"vllm.env, line {entry.line}: expected a single word.")
    return str(entry.value)


def _loads(
    fields: Mapping[str, RecipeEntry], tools: QualityTools, left_out: frozenset[str], remarks: RecipeRemarks
) -> list[WorkloadText]:
    """The loads of a recipe, speed first as in perf-eval."""
    blocks = {key: fields.get(key) for key in BLOCKS}
    for key in left_out & frozenset(BLOCKS):
        remarks.note(key, fields[key].line, "it is left out, as asked for.")
        blocks[key] = None
    loads: list[tuple[WorkloadText, str, int]] = []
    for config in _configs(blocks["vllm_bench"], remarks):
        title = text_of(mapping(config, "vllm_bench").get("name"), "vllm_bench.configs.name", config.line)
        name = f"vllm_bench.{title}"
        if name in left_out:
            remarks.note(name, config.line, "it is left out, as asked for.")
            continue
        _note_repetitions(config, name, remarks)
        loads += [(load, name, config.line) for load in speed_loads(config, name, remarks)]
    for key, read_loads in (("lm_eval", accuracy_loads), ("bfcl", tool_call_loads)):
        block = blocks[key]
        loads += [(load, key, block.line if block else 0) for load in read_loads(block, key, tools, left_out, remarks)]
    kinds = Counter(load.name for load, _, _ in loads)
    return [load if kinds[load.name] == 1 else _labelled(load, name) for load, name, _ in loads]


def _labelled(load: WorkloadText, name: str) -> WorkloadText:
    """A load labelled by its part of the recipe, to tell it from others: 'grid 8k-in-1k-out', 'lm-eval gsm8k'."""
    tasks = str(load.params.get("tasks") or name.partition(".")[2])
    return load.model_copy(update={"label": f"{load.name.removeprefix('drive:')} {tasks}"[:80]})


def _configs(block: RecipeEntry | None, remarks: RecipeRemarks) -> list[RecipeEntry]:
    fields = mapping(block, "vllm_bench")
    for key, entry in fields.items():
        if key == "metadata":
            remarks.note("vllm_bench.metadata", entry.line, "it labels rows of perf-eval's dashboard.")
        elif key != "configs":
            remarks.refuse(f"vllm_bench.{key}", entry.line, "perf-eval knows no such field.")
    return items(fields.get("configs"), "vllm_bench.configs")


def _note_repetitions(config: RecipeEntry, name: str, remarks: RecipeRemarks) -> None:
    if entry := mapping(config, name).get("repetitions"):
        reason = (
            "they repeat on one server; here each repetition is a separate server start, because starts differ too."
        )
        remarks.note(f"{name}.repetitions", entry.line, reason)


def _plan(fields: Mapping[str, RecipeEntry], arms: list[ArmText], loads: list[WorkloadText], name: str) -> StudyPlan:
    minutes = fields.get("timeout_in_minutes")
    hours = whole_number(minutes, "timeout_in_minutes") / 60 if minutes else None
    configs = items(mapping(fields.get("vllm_bench"), "vllm_bench").get("configs"), "vllm_bench.configs")
    repetitions = [mapping(config, "vllm_bench").get("repetitions") for config in configs]
    starts = max([MIN_STARTS, *(whole_number(entry, "repetitions") for entry in repetitions if entry)])
    try:
        budget = Budget(runs=starts * len(arms), rounds=starts, hours=hours)
        title = str(fields["name"].value)[:80] if "name" in fields else arms[0].name
        question: Question = "measure" if len(arms) == 1 else "which"
        file = StudyFile(question=question, title=title, budget=budget, arm=arms, workload=loads)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise StudyFileError(f"{name}, {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    return plan_of(file, name)
