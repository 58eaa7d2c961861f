"""The tool matrix against labelled fakes: a right server passes all, each wrong one fails what it breaks, no more."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from load_records import Load, RequestRecord, SuiteCheck
from tests.demo_engine import ROOT, DemoServer
from tests.workloads.servers import DONE, HEAD, Script, event, read_request, serving
from workloads.job import LoadJob
from workloads.process.prepare import COMMAND_LINE
from workloads.process.start import run_job
from workloads.requests.records import parse_line
from workloads.suites.tool_matrix import HTML, QUESTIONS, REASONING, TOOL_MATRIX

pytestmark = pytest.mark.wide

Body = Mapping[str, Any]
BOTH = ("streaming", "whole")
CASES = [question.name for question in QUESTIONS]
SINGLE, PARALLEL, CHOICE, PAGE, RESULT, LOOP = CASES
ALL = {(case, mode) for case in [*CASES, REASONING] for mode in BOTH}
OF_TOOLS = {(case, mode) for case in CASES for mode in BOTH}


@dataclass(frozen=True)
class Said:
    """A fake server's answer."""

    content: str = ""
    thought: str = ""
    calls: tuple[dict[str, str], ...] = ()
    finish_reason: str = "stop"


def call(number: int, name: str, **arguments: object) -> dict[str, str]:
    return {"id": f"call-{number}", "name": name, "arguments": json.dumps(arguments)}


def right(body: Body) -> Said:
    """What a right server says."""
    question = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
    if not body.get("tools"):
        return Said("Together 246 s.", "2.4 + 3 * 81.2")
    if any(m["role"] == "tool" for m in body["messages"]):
        return Said("It has 17 degrees in Oslo, and in Lima it is 04:52.")
    weather, time = call(0, "get_weather", city="Oslo", unit="celsius"), call(1, "get_local_time", city="Lima")
    calls: tuple[dict[str, str], ...] = (weather, time) if "Lima" in question else (weather,)
    if "Add" in question:
        calls = (call(0, "add_numbers", numbers=[19, 22]),)
    elif "HTML" in question:
        calls = (call(0, "write_page", path="box.html", html=HTML),)
    return Said(calls=calls, finish_reason="tool_calls")


def streamed(said: Said) -> bytes:
    """As events: a call's name and id first, its arguments in pieces of seven characters."""
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": None}]
    deltas += [{"reasoning_content": said.thought}] if said.thought else []
    deltas += [{"content": said.content[:5]}, {"content": said.content[5:]}] if said.content else []
    for index, call in enumerate(said.calls):
        head = {
            "index": index,
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": ""},
        }
        deltas.append({"tool_calls": [head]})
        for at in range(0, len(call["arguments"]), 7):
            piece = {"index": index, "function": {"arguments": call["arguments"][at : at + 7]}}
            deltas.append({"tool_calls": [piece]})
    events = [event(choices=[{"delta": delta, "finish_reason": None}]) for delta in deltas]
    end = event(choices=[{"delta": {}, "finish_reason": said.finish_reason}], usage={"completion_tokens": 9})
    return HEAD + b"".join(events) + end + DONE


def whole_response(said: Said) -> bytes:
    calls = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for c in said.calls
    ]
    message = {"role": "assistant", "content": said.content or None, "tool_calls": calls or None}
    message |= {"reasoning_content": said.thought} if said.thought else {}
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    return http(200, {"choices": [choice], "usage": {"completion_tokens": 9, "prompt_tokens": 5}})


def http(status: int, body: object) -> bytes:
    data = json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def server(answer: Callable[[Body], Said | bytes]) -> Script:
    async def script(reader: Any, writer: Any) -> None:
        body: Body = await read_request(reader)
        actual_answer = answer(body)
        writer.write(
            actual_answer
            if isinstance(actual_answer, bytes)
            else (streamed if body["stream"] else whole_response)(actual_answer)
        )
        await writer.drain()

    return script


def load(answer: Callable[[Body], Said | bytes], folder: Path, **fields: Any) -> list[Any]:
    """The lines that the matrix writes against a fake."""

    async def run() -> None:
        async with serving(server(answer)) as base_url:
            await run_job(job_of(folder, base_url, **fields), None)

    asyncio.run(run())
    return [parse_line(line) for line in (folder / "requests.jsonl").read_text().splitlines()]


def job_of(folder: Path, base_url: str, **fields: Any) -> LoadJob:
    files = {"out": folder / "requests.jsonl", "progress": folder / "progress.json"}
    actual_fields = {
        "run_id": "r",
        "base_url": base_url,
        "model": "m",
        "workload": "tool-matrix",
        "reasoning_parser": "qwen3",
    }
    return LoadJob.model_validate({**actual_fields, **files, **fields})


def verdicts(lines: list[Any]) -> dict[tuple[str, str], SuiteCheck]:
    return {(line.case_name, line.mode): line for line in lines if isinstance(line, SuiteCheck)}


def test_a_right_server_passes_all(tmp_path: Path) -> None:
    lines = load(right, tmp_path)
    actual_verdicts = verdicts(lines)
    assert set(actual_verdicts) == ALL
    assert {key: check.why for key, check in actual_verdicts.items() if not check.is_pass} == {}
    steps = actual_verdicts[LOOP, "streaming"].exchange["steps"]
    assert [step["answered"]["finish_reason"] for step in steps] == ["tool_calls", "stop"]
    assert steps[1]["asked"]["messages"][-1]["content"] == '{"time": "04:52"}'
    sent_lines = [line for line in lines if isinstance(line, RequestRecord)]
    assert len(sent_lines) == len(ALL) + 4, "two cases of two steps in both modes"
    assert {
        (r.ttft_ms is None, r.chunk_us is None, r.chunks is None) for r in sent_lines if r.extra["mode"] == "whole"
    } == {(True, True, True)}
    assert [line.planned_requests for line in lines if isinstance(line, Load)] == [None]


def changed(change: Callable[[Said], Said], only: Callable[[Body], bool] = lambda body: True) -> Callable[[Body], Said]:
    """The right answers with one thing made wrong."""
    return lambda body: change(right(body)) if only(body) else right(body)


def with_arguments(change: Callable[[str], str]) -> Callable[[Said], Said]:
    return lambda said: replace(said, calls=tuple({**c, "arguments": change(c["arguments"])} for c in said.calls))


def is_whole(body: Body) -> bool:
    return not body["stream"]


def has_results(body: Body) -> bool:
    return any(message["role"] == "tool" for message in body["messages"])


def times(cases: list[str], *modes: str) -> set[tuple[str, str]]:
    return {(case, mode) for case in cases for mode in modes or BOTH}


WRONG = {
    "calls end with 'stop' when whole": (
        changed(lambda said: replace(said, finish_reason="stop"), is_whole), times(CASES, "whole"),
        "finish_reason is 'stop', not 'tool_calls'",
    ),
    "a tag leaks after results, whole": (
        changed(lambda s: replace(s, content="<tool_call>" + s.content), lambda b: is_whole(b) and has_results(b)),
        times([RESULT, LOOP], "whole"), "the tag '<tool_call>' leaked into the text",
    ),
    "'<' twice when streamed": (
        changed(with_arguments(lambda text: text.replace("<", "<<")), lambda body: body["stream"]),
        times([PAGE], "streaming"), "the HTML differs from the requested one",
    ),
    "one call only": (
        changed(lambda said: replace(said, calls=said.calls[:1])), times([PARALLEL, LOOP]), "get_local_time",
    ),
    "arguments are cut": (changed(with_arguments(lambda text: text[:-2])), times(CASES), "are not a JSON object"),
    "a field too many": (
        changed(with_arguments(lambda text: text.replace('"city"', '"town"'))),
        times([SINGLE, PARALLEL, RESULT, LOOP]), "do not fit its schema",
    ),
    "a number in quotes": (
        changed(with_arguments(lambda text: text.replace("19", '"19"'))), times([CHOICE]), "numbers.0",
    ),
    "no id": (changed(lambda s: replace(s, calls=tuple({**c, "id": ""} for c in s.calls))), times(CASES), "no id"),
    "one id for all": (
        changed(lambda s: replace(s, calls=tuple({**c, "id": "x"} for c in s.calls))), times([PARALLEL, LOOP]),
        "same id",
    ),
    "the wrong tool": (
        changed(lambda s: replace(s, calls=(call(0, "get_weather", city="Oslo"),)) if "add" in str(s.calls) else s),
        times([CHOICE]), "called get_weather instead of add_numbers",
    ),
    "no tool at all": (
        lambda body: Said("Sure!") if body.get("tools") else right(body), times(CASES), "no tool was called",
    ),
    "calls as text": (
        lambda body: Said('```json\n{"name": "get_weather"}\n```') if body.get("tools") else right(body), times(CASES),
        "'```json' leaked",
    ),
    "an answer without the facts": (
        changed(lambda said: replace(said, content="It is fine."), has_results), times([RESULT, LOOP]),
        "the answer lacks 17",
    ),
    "thinking in the text": (
        changed(lambda s: Said(f"<think>{s.thought}</think>{s.content}") if s.thought else s), times([REASONING]),
        "no reasoning field came, although the command names the parser qwen3",
    ),
    "a mark of the model in the arguments": (
        changed(with_arguments(lambda text: text.replace("Oslo", "<|x|>Oslo"))),
        times([SINGLE, PARALLEL, RESULT, LOOP]), "leaked into the arguments",
    ),
    "results are refused": (
        lambda body: http(400, {"error": "no role tool"}) if has_results(body) else right(body),
        times([RESULT, LOOP]), "HTTP 400",
    ),
    "it breaks": (lambda body: http(500, {"error": "out of memory"}), ALL, "out of memory"),
    "an answer that is none": (
        lambda body: http(200, {"choices": [{}]}) if is_whole(body) else right(body),
        times([*CASES, REASONING], "whole"), "without a finish reason",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_server_fails_what_it_breaks(fault: str, tmp_path: Path) -> None:
    answer, broken, sentence = WRONG[fault]
    actual_verdicts = verdicts(load(answer, tmp_path))
    assert {key for key, check in actual_verdicts.items() if check.is_pass is False} == broken
    assert {key for key, check in actual_verdicts.items() if check.is_pass} == ALL - broken
    assert all(sentence in (actual_verdicts[key].why or "") for key in broken), {
        actual_verdicts[key].why for key in broken
    }


@pytest.mark.parametrize("status", [400, 404, 500, 501])
def test_server_refusing_tools_was_not_tried(status: int, tmp_path: Path) -> None:
    refusal = http(status, {"error": "tools are not supported"})
    actual_verdicts = verdicts(load(lambda body: refusal if body.get("tools") else right(body), tmp_path))
    assert {key for key, check in actual_verdicts.items() if check.is_pass is None} == OF_TOOLS
    assert "tools are not supported" in (actual_verdicts[SINGLE, "whole"].why or "")


def test_reasoning_without_parser_is_seen_untried(tmp_path: Path) -> None:
    actual_verdicts = verdicts(load(lambda body: replace(right(body), thought=""), tmp_path, reasoning_parser=None))
    assert {key for key, check in actual_verdicts.items() if check.is_pass is None} == times([REASONING])
    (tmp_path / "requests.jsonl").unlink()
    assert verdicts(load(right, tmp_path, reasoning_parser=None))[REASONING, "whole"].is_pass


def test_huge_answer_is_cut_and_endless_given_up(tmp_path: Path) -> None:
    actual_verdicts = verdicts(load(lambda body: Said("word " * 20_000), tmp_path))
    assert all(len(json.dumps(check.exchange)) < 40_000 for check in actual_verdicts.values())


def test_a_loop_that_never_ends_is_broken_off(tmp_path: Path) -> None:
    again = Said(calls=(call(0, "get_weather", city="Oslo"),), finish_reason="tool_calls")
    lines = load(lambda body: again if body.get("tools") else right(body), tmp_path)
    check = verdicts(lines)[RESULT, "whole"]
    assert check.is_pass is False and "called a tool again" in (check.why or "")
    assert len(check.exchange["steps"]) == 4


@pytest.mark.engine
def test_template_without_tools_fails_all_of_them(demo_server: DemoServer, tmp_path: Path) -> None:
    job = job_of(tmp_path, demo_server.base_url, engine="llamacpp", params={"max_tokens": 40}, reasoning_parser=None)
    asyncio.run(run_job(job, None))
    actual_verdicts = verdicts([parse_line(line) for line in job.out.read_text().splitlines()])
    assert {key for key, check in actual_verdicts.items() if check.is_pass is False} == OF_TOOLS
    assert all("no tool was called" in (actual_verdicts[key].why or "") for key in OF_TOOLS)


def test_the_report_has_a_line_a_check(tmp_path: Path) -> None:
    load(WRONG["one call only"][0], tmp_path)
    command = [sys.executable, str(COMMAND_LINE), "load", "report", str(tmp_path / "requests.jsonl")]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "── tool calls: 10 of 14 pass" in printed
    assert "pass       Single call, streaming\n" in printed
    assert "fail       Parallel calls, whole: called get_weather instead of get_local_time, get_weather" in printed


@pytest.mark.parametrize("is_strict", [True, False])
def test_schema_arguments_requested_where_set(is_strict: bool) -> None:
    (phase,) = TOOL_MATRIX.plan({"strict": is_strict, "tool_choice": "required"})
    offered = [tool["function"] for request in phase.requests for tool in request.tools]
    assert offered and {function.get("strict") for function in offered} == {True if is_strict else None}
