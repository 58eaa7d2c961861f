"""Files of agent shapes: a header, then one request per line, as JSON; and traces of other tools, read as shapes."""

from __future__ import annotations

from pathlib import Path

import orjson

from analysis.sessions.agent_shape import FORMAT, AgentShape, ShapeHeader, ShapeRequest, fault_in
from machine.private_files import write_private
from workloads.texts.prompt_file import PlanError, parse_json_line, read_lines
from workloads.texts.trace_file import shape_of_trace

HEADER_KEY = b'"format"'
RECORDED_TEXT_KEY = b'"messages"'


def read_shape(path: str, most_requests: int) -> AgentShape:
    """Read the first requests of a file: a shape, or a trace in the format of Mooncake or AIPerf; raises PlanError."""
    (number, first_line), *lines = read_lines(path)
    if HEADER_KEY not in first_line:
        if RECORDED_TEXT_KEY in first_line:
            raise PlanError(f"{Path(path).name} has the text of chats: the load 'Agent session' replays it.")
        return shape_of_trace(path, [(number, first_line), *lines][:most_requests])
    header = parse_json_line(path, number, ShapeHeader, first_line)
    requests: list[ShapeRequest] = []
    for line_number, line in lines[:most_requests]:
        request = parse_json_line(path, line_number, ShapeRequest, line)
        if fault := fault_in(request, requests):
            raise PlanError(f"{Path(path).name}, line {line_number}: {fault}.")
        requests.append(request)
    if not requests:
        raise PlanError(f"{Path(path).name} has no request.")
    return AgentShape(tuple(requests), header)


def write_shape(path: Path, shape: AgentShape) -> None:
    """Write a shape, readable by its owner alone; raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, shape_bytes(shape))


def shape_bytes(shape: AgentShape) -> bytes:
    """Return a shape as the content of its file."""
    lines = [
        shape.header.model_dump(),
        *(request.model_dump(mode="json", exclude_defaults=True) for request in shape.requests),
    ]
    assert lines[0]["format"] == FORMAT
    return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
