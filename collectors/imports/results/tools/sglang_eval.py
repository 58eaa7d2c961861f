"""Reads what the evaluations of SGLang print: `benchmark/gsm8k/bench_sglang.py` and `sglang.test.run_eval`.

Their latency is the time of the whole evaluation, no latency of a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed import BULLET
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks
from collectors.imports.results.values import cut
from domain import JsonValue
from reasons import Code, Reason

TOOL = "sglang evaluation"
PROGRAM = re.compile(r"(?<![\w./-])[\w./-]{0,200}\bbench_sglang\.py\b|\bsglang\.test\.run_eval\b|\bfew_shot_\w{1,20}\b")
TASK = re.compile(
    r"\b(?:benchmark/(?P<folder>\w{2,20})/|--eval-name[ =](?P<name>[\w.-]{2,30})|few_shot_(?P<script>[a-z\d]{2,20}))"
)
SHARE, NUMBER = r"[01](?:\.\d{1,18})?", r"\d{1,12}(?:\.\d{1,9})?"
LINE = re.compile(
    rf"(?P<score>Accuracy|Score): (?P<accuracy>{SHARE})|Invalid: (?P<invalid>{SHARE})|"
    rf"Repeat: (?P<repeat>\d{{1,4}}), mean: (?P<mean>{SHARE})|Scores: \[(?P<scores>[\d., ']{{1,2000}})\]|"
    rf"(?P<which>Total l|Mean l|L)atency: (?P<seconds>{NUMBER})(?: s)?|"
    rf"Output throughput: (?P<tps>{NUMBER})(?: token/s)?|"
    r"\[METRIC\] (?P<metric>\w{1,60})=(?P<exact>[\d.e+-]{1,30}) labels=(?P<labels>\{.{0,400}\})|={10,80}"
)
TASK_NAME = re.compile(r"(?!(?:pr|main|master|before|after|base|baseline|new|old)$)[\w.+-]{2,30}", re.IGNORECASE)
LABEL = re.compile(r'"(?P<name>model|eval)": "(?P<value>[^"]{1,300})"')
SCORED = re.compile(r"(?:Accuracy|Score): [01]|Repeat: \d")
TIMED = re.compile(r"(?:(?:Total|Mean) l|L)atency: \d")
NEXT_PART = re.compile(r"[,;] {1,3}(?=(?:Accuracy|Score|Invalid|(?:Total |Mean )?[Ll]atency|Output throughput): )")
POINT = MeasurementPoint("all items")
NOT_NAMED = "not named"


def has_printed(content: str) -> bool:
    """Return whether a text contains the score of an evaluation and its time."""
    return any(True for _ in _blocks(content.splitlines())) if "atency:" in content else False


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each evaluation of a text, and the text with its lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs of such lines that have both a score and a time."""
    for start, end in blocks_among(lines, _is_line, _is_line):
        block = [part for line in lines[start:end] for part in _parts(line)]
        if any(map(SCORED.match, block)) and any(map(TIMED.match, block)):
            yield start, end


def _is_line(line: str) -> bool:
    return all(map(LINE.fullmatch, _parts(line)))


def _parts(line: str) -> list[str]:
    """Return the lines of an evaluation that a line consists of, without the marks of a list and of bold words."""
    line = line[match.end() :] if (match := BULLET.match(line)) else line
    return NEXT_PART.split(line[:2_600].replace("**", "").replace("`", "").strip()[:2_500])


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(command))
    matches = [match for line in lines for part in _parts(line) if (match := LINE.fullmatch(part))]
    labels = {match["name"]: match["value"] for line in lines for match in LABEL.finditer(line)}
    load.model = labels.get("model", load.model)
    command_task = TASK.search(f"{command.program}{command.words}")
    heading_task = block.heading if block.heading and TASK_NAME.fullmatch(block.heading) else None
    task = labels.get("eval") or (command_task and next(filter(None, command_task.groups()))) or heading_task
    exact = {match["metric"]: match["exact"] for match in matches if match["metric"]}
    for match in matches:
        _add_line(load, task or "", match, exact)
    return load


def _add_line(load: LoadBuilder, task: str, match: re.Match[str], exact: dict[str, str]) -> None:
    if match["accuracy"]:
        name = "accuracy" if match["score"] == "Accuracy" else "score"
        _add_share(load, task, name, exact.get(f"{task}_score", match["accuracy"]))
    elif match["invalid"]:
        invalid_point = POINT._replace(name=f"{POINT.name}: answers without a result")
        load.result(invalid_point, STATED, STATED, float(match["invalid"]), unit="ratio")
    elif match["mean"]:
        _add_share(load, task, "mean score", exact.get(f"{task}_mean_score", match["mean"]))
        load.params["repeats"] = int(match["repeat"])
    elif match["scores"]:
        scores: list[JsonValue] = [score.strip(" '") for score in match["scores"].split(",")]
        load.params["scores"] = cut(scores)
    elif match["seconds"]:
        statistic = "mean" if match["which"].startswith("Mean") else "total"
        load.result(POINT, "duration_s", statistic, float(match["seconds"]))
    elif match["tps"]:
        load.result(POINT, "output_tps", "mean", float(match["tps"]))


def _add_share(load: LoadBuilder, task: str, metric: str, share: str) -> None:
    load.accuracy(task=task or NOT_NAMED, filter="none", metric=metric, value=float(share), protocol_hash=None,
                  reason=Reason(Code.ITEM_COUNT_NOT_TOLD))  # fmt: skip
