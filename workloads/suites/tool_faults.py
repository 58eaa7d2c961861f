"""What is wrong with one answer that calls tools, or with the text after it: sentences, none where all is well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from workloads.requests.exchange import Exchange
from workloads.requests.tool_calls import ToolCall
from workloads.suites.tool_set import Tool

# What parsers of calls take out of a text: a model's own marks, and calls written as text.
TAG = re.compile(
    r"</?tool_?(?:calls?|response)\b[^>]{0,40}>|<\|[^|>]{0,40}\|?>|<[^|<>]{0,40}\|>|<\uff5c[^\uff5c]{0,40}\uff5c>|"
    r"\[/?(?:TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<function[=_ ][^>]{0,80}>|</?(?:start|end)_of_turn>|"
    r"```(?:json|tool)"
)
THINKING_TAG = re.compile(r"</?think(?:ing)?>|<\|?channel\|?>")
QUOTED = 60


def call_faults(one: Exchange, tools: Sequence[Tool], wanted: Sequence[str]) -> Iterator[str]:
    """What is wrong with an answer that must call `wanted`, in any order, out of `tools`."""
    calls = one.reading.tools.ordered
    if not calls:
        yield f"no tool was called, the answer is {quoted(text_of(one))}"
    elif (called := Counter(call.name for call in calls)) != Counter(wanted):
        yield f"called {', '.join(sorted(called.elements()))}, where {', '.join(sorted(wanted))} was asked for"
    yield from _api_faults(one, calls)
    for call in calls:
        yield from _argument_faults(call, tools)
    yield from leaks(text_of(one))


def text_faults(one: Exchange, facts: Sequence[str]) -> Iterator[str]:
    """What is wrong with an answer in words that must contain these facts."""
    text = text_of(one)
    if one.reading.tools.calls:
        yield "it called a tool again instead of answering"
    elif missing := [fact for fact in facts if fact not in text]:
        yield f"the answer does not tell {' and '.join(missing)} from the tools' results: {quoted(text)}"
    if one.reading.finish_reason != "stop" and not one.reading.tools.calls:
        yield f"finish_reason is {one.reading.finish_reason!r}, not 'stop'"
    yield from leaks(text)


def text_of(one: Exchange) -> str:
    """The answer's text without its thinking."""
    return "".join(one.reading.content)


def leaks(text: str) -> Iterator[str]:
    """A tag of the model's own tool format that stands in the text."""
    if found := TAG.search(text):
        yield f"the tag {quoted(found[0])} leaked into the text"


def quoted(text: str) -> str:
    """The start of a text in quotes."""
    return repr(text[:QUOTED] + ("…" if len(text) > QUOTED else ""))


def _api_faults(one: Exchange, calls: Sequence[ToolCall]) -> Iterator[str]:
    """What the API says of calls, whatever they call."""
    if one.reading.tools.has_malformed:
        yield "a piece of tool_calls is none of the API's"
    if calls and one.reading.finish_reason != "tool_calls":
        yield f"finish_reason is {one.reading.finish_reason!r}, not 'tool_calls'"
    ids = [call.id for call in calls]
    if not all(ids):
        yield "a call has no id"
    elif len(set(ids)) < len(ids):
        yield "two calls have the same id"


def _argument_faults(call: ToolCall, tools: Sequence[Tool]) -> Iterator[str]:
    """Whether the arguments, joined, are JSON that fits the schema, without a tag of the model's."""
    tool = next((one for one in tools if one.name == call.name), None)
    if tool is None:
        yield f"there is no tool {quoted(call.name)}"
        return
    if not call.parses:
        yield f"the arguments of {call.name} are no JSON object: {quoted(call.arguments)}"
        return
    try:
        tool.arguments.model_validate_json(call.arguments)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        yield f"the arguments of {call.name} do not fit its schema: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if found := TAG.search(call.arguments):
        yield f"the tag {quoted(found[0])} leaked into the arguments of {call.name}"
