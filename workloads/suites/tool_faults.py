"""Finds the faults of an answer that calls tools, or of the text after it, as sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from workloads.requests.exchange import Exchange
from workloads.requests.tool_calls import ToolCall
from workloads.suites.tool_set import Tool

# Marks that a tool parser must remove from the text: a model's special tags, and calls written as text.
TAG = re.compile(
    r"</?tool_?(?:calls?|response)\b[^>]{0,40}>|<\|[^|>]{0,40}\|?>|<[^|<>]{0,40}\|>|<\uff5c[^\uff5c]{0,40}\uff5c>|"
    r"\[/?(?:TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<function[=_ ][^>]{0,80}>|</?(?:start|end)_of_turn>|"
    r"```(?:json|tool)"
)
THINKING_TAG = re.compile(r"</?think(?:ing)?>|<\|?channel\|?>")
QUOTED_CHARS = 60


def call_faults(exchange: Exchange, tools: Sequence[Tool], expected_calls: Sequence[str]) -> Iterator[str]:
    """Yield the faults of an answer that must call `expected_calls`, in any order, out of `tools`."""
    calls = exchange.reading.tools.ordered
    if not calls:
        yield f"no tool was called; the answer is {quoted(text_of(exchange))}"
    elif (called := Counter(call.name for call in calls)) != Counter(expected_calls):
        yield f"called {', '.join(sorted(called.elements()))} instead of {', '.join(sorted(expected_calls))}"
    yield from _api_faults(exchange, calls)
    for call in calls:
        yield from _argument_faults(call, tools)
    yield from leaks(text_of(exchange))


def text_faults(exchange: Exchange, facts: Sequence[str]) -> Iterator[str]:
    """Yield the faults of a text answer that must contain these facts."""
    text = text_of(exchange)
    if exchange.reading.tools.calls:
        yield "it called a tool again instead of answering"
    elif missing := [fact for fact in facts if fact not in text]:
        yield f"the answer lacks {' and '.join(missing)} from the tool results: {quoted(text)}"
    if exchange.reading.finish_reason != "stop" and not exchange.reading.tools.calls:
        yield f"finish_reason is {exchange.reading.finish_reason!r}, not 'stop'"
    yield from leaks(text)


def text_of(exchange: Exchange) -> str:
    """Return the answer's text without its thinking."""
    return "".join(exchange.reading.content)


def leaks(text: str) -> Iterator[str]:
    """Yield a fault if the text contains a tag of the model's tool format."""
    if tag := TAG.search(text):
        yield f"the tag {quoted(tag[0])} leaked into the text"


def quoted(text: str) -> str:
    """Return the start of a text in quotes."""
    return repr(text[:QUOTED_CHARS] + ("…" if len(text) > QUOTED_CHARS else ""))


def _api_faults(exchange: Exchange, calls: Sequence[ToolCall]) -> Iterator[str]:
    """Yield violations of the API that do not depend on the called tools."""
    if exchange.reading.tools.has_malformed:
        yield "a piece of tool_calls does not follow the API"
    if calls and exchange.reading.finish_reason != "tool_calls":
        yield f"finish_reason is {exchange.reading.finish_reason!r}, not 'tool_calls'"
    ids = [call.id for call in calls]
    if not all(ids):
        yield "a call has no id"
    elif len(set(ids)) < len(ids):
        yield "two calls have the same id"


def _argument_faults(call: ToolCall, tools: Sequence[Tool]) -> Iterator[str]:
    """Yield a fault if the joined arguments are not JSON that fits the schema, or contain a tag of the model."""
    tool = next((candidate for candidate in tools if candidate.name == call.name), None)
    if tool is None:
        yield f"there is no tool {quoted(call.name)}"
        return
    if not call.has_valid_arguments:
        yield f"the arguments of {call.name} are not a JSON object: {quoted(call.arguments)}"
        return
    try:
        tool.arguments.model_validate_json(call.arguments)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        yield f"the arguments of {call.name} do not fit its schema: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if tag := TAG.search(call.arguments):
        yield f"the tag {quoted(tag[0])} leaked into the arguments of {call.name}"
