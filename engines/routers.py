"""Routers and gateways in front of engines: their logs are no engine's, but have errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from engines.base import LogEvent, LogParser, ParsedLine
from engines.line_filter import LineFilter
from engines.line_reader import LineReader, LogFailure
from engines.prefixes import strip_ansi

_MOST_RECORD_CHARS = 1000  # of a record, to its module's name
_MOST_TEXT_CHARS = 500
_CAUSE = 0


class Router(NamedTuple):
    """A program that forwards requests to engines, and the module names in its records."""

    title: str
    record: re.Pattern[str]  # within one line


def _router(title: str, modules: str) -> Router:
    level = r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b:? "
    place = rf"(?:\b{modules}(?:::\w+)*: |\(\w+\.py:\d+:{modules}[\w.]*\)$)"
    return Router(title, re.compile(rf"{level}.*?{place}"))


ROUTERS = (
    _router("SGLang Model Gateway", r"(?:smg|sglang_router(?:_rs)?)"),
    _router("vLLM Router", r"vllm_router(?:_rs)?"),
    _router("NVIDIA Dynamo frontend", r"dynamo_(?:llm::(?:http|kv_router|entrypoint)|frontend)"),
    Router(
        "llama-swap",
        re.compile(
            r"^(?:.{0,100}?[\]|:Z] ?)?\[(?:DEBUG|INFO|WARN|ERROR)\] (?:<[^<>]{1,200}> |Request [\w.:]+ \"[A-Z]+ /)|"
            r"^\[llama-swap\] |\bllama-swap listening on |^llama-swap[\w.-]* *\| .{0,100}?\bhttp: proxy error: "
        ),
    ),
    Router("reverse proxy in Go", re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d http: proxy error: ")),
)
_PROXY_ERROR = "http: proxy error: "  # Go's, without a level
_MODULES = re.compile(
    r"\b(?:smg|sglang_router|vllm_router|dynamo_llm|dynamo_frontend|llama-swap|http: proxy error)|\] (?:<|Request )"
)
_RUST_PLACE = re.compile(r"\b\w+(?:::\w+)+: (?:[\w./@-]+\.rs:\d+: )?")
_PYTHON_PLACE = re.compile(r" ?\(\w+\.py:\d+:[\w.]+\)$")


def split_router_records(text: str) -> tuple[Router | None, str]:
    """Return the router that wrote records of this text, and the text without them: they name engines and paths."""
    if _MODULES.search(text) is None:
        return None, text
    router: Router | None = None
    other_lines = []
    for line in text.splitlines():
        writer = _writer_of(line)
        router = router or writer
        if writer is None:
            other_lines.append(line)
    return router, "\n".join(other_lines)


def _writer_of(line: str) -> Router | None:
    if _MODULES.search(line) is None:
        return None
    record = strip_ansi(line[:_MOST_RECORD_CHARS]).rstrip()
    return next((router for router in ROUTERS if router.record.search(record)), None)


def router_parser() -> LogParser:
    """Return a parser for one log of a router, to be fed from its first byte."""
    return _RouterReader()


class _RouterReader(LineReader):
    """Reads one router's log: an error is a cause, a warning a warning; it has no samples."""

    ENGINE = ""
    LINE_FILTER = LineFilter(re.compile(rb"WARN|ERROR|CRITICAL|FATAL|" + _PROXY_ERROR.encode()))

    def read_line(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the failure or warning that a record reports."""
        if line.text.startswith(_PROXY_ERROR):
            message = line.text.removeprefix(_PROXY_ERROR)[:_MOST_TEXT_CHARS]
            return self.report(line, LogFailure(_CAUSE, message, message))
        message = _message(line.text)
        if line.level in ("ERROR", "CRITICAL", "FATAL"):
            return self.report(line, LogFailure(_CAUSE, message, message))
        if line.level in ("WARN", "WARNING"):
            return self.report(line, LogFailure(None, message, message))
        return []


def _message(text: str) -> str:
    """Return the record's message, without spans, module and place in the source."""
    bare = text[: 2 * _MOST_RECORD_CHARS].rstrip()
    match = _RUST_PLACE.search(bare)
    return _PYTHON_PLACE.sub("", bare[match.end() :] if match else bare)[:_MOST_TEXT_CHARS]
