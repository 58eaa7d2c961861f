"""'tool-matrix': checks a server's tool calls case by case, streamed and not streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson
from pydantic import Field

from domain import JsonValue
from workloads.plan import Message, Params, Phase, Plan, PlannedRequest, Verdict, Workload
from workloads.requests.exchange import Exchange
from workloads.suites.cases import MOST_STEPS, STREAMED, WHOLE
from workloads.suites.tool_faults import THINKING_TAG, call_faults, quoted, text_faults, text_of
from workloads.suites.tool_set import BY_NAME, PAGE, SUM, TIME, WEATHER, Tool

SUITE = "tool calls"
HTML = '<div class="lap"><p>1 &lt; 2</p><br/><a href="/pit?a=1&b=2">box</a></div>'
SYSTEM = "Use the tools that you are given. Once you have their results, answer in one sentence with their very values."
Steps = Sequence[Exchange]


class ToolMatrixParams(Params):
    """What can be set of 'tool-matrix'."""

    endpoint: Literal["chat"] = "chat"
    max_tokens: int = Field(default=1024, ge=16, le=100_000)  # of an answer, its thinking among them
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    tool_choice: Literal["auto", "required"] = "auto"  # of the first request of a case
    strict: bool = False  # ask that a call's arguments follow the tool's schema; not every server does otherwise


@dataclass(frozen=True, slots=True)
class Question:
    """What a case asks, and how its answers are judged; `facts` come from the tools and stand in the last answer."""

    name: str
    words: str
    tools: tuple[Tool, ...]
    wanted: tuple[str, ...]  # the tools to be called, of a loop one after the other or at once
    facts: tuple[str, ...] = ()  # none: it is over with the calls
    html: str | None = None


QUESTIONS = (
    Question("Single call", "What is the weather in Oslo, in celsius?", (WEATHER,), (WEATHER.name,)),
    Question(
        "Parallel calls", "What is the weather in Oslo, and what is the local time in Lima? Call both tools at once.",
        (WEATHER, TIME), (WEATHER.name, TIME.name),
    ),
    Question("Choice of three tools", "Add 19 and 22.", (WEATHER, TIME, SUM), (SUM.name,)),
    Question("HTML in arguments", f"Write exactly this HTML to the file box.html: {HTML}", (PAGE,), (PAGE.name,),
             html=HTML),
    Question("Call, result, answer", "How warm is it in Oslo, in celsius?", (WEATHER,), (WEATHER.name,), ("17",)),
    Question(
        "Full loop", "Tell me the temperature in Oslo in celsius, and the local time in Lima.", (WEATHER, TIME),
        (WEATHER.name, TIME.name), ("17", "04:52"),
    ),
)  # fmt: skip
REASONING = "Reasoning in its own field"
PUZZLE = "A pit stop takes 2.4 s and each of 3 laps after it 81.2 s. How long is all of it? Think step by step."


@dataclass(frozen=True, slots=True)
class ToolCase:
    """One question in one mode."""

    question: Question
    mode: str
    sampling: Mapping[str, JsonValue]
    is_strict: bool = False
    suite: str = SUITE

    @property
    def name(self) -> str:
        return self.question.name

    def first(self) -> PlannedRequest:
        """The request that begins the case: the system's words, the question and its tools."""
        messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": self.question.words})
        return self._request(messages, self.sampling)

    def follow(self, went: Steps) -> PlannedRequest | None:
        """With the results of what was called, as long as the question needs them; in words from then on."""
        last = went[-1]
        calls = last.reading.tools.ordered
        if not self.question.facts or last.error_kind or not calls or len(went) >= MOST_STEPS:
            return None
        if any(call.name not in BY_NAME for call in calls):
            return None
        said = [dict(message) for message in last.body["messages"]]
        results = [BY_NAME[call.name].answer(call) for call in calls]
        plain = {name: value for name, value in self.sampling.items() if name != "tool_choice"}
        return self._request((*said, _spoken(last), *results), plain)

    def _request(self, messages: tuple[Message, ...], sampling: Mapping[str, JsonValue]) -> PlannedRequest:
        return PlannedRequest(
            self.name,
            "",
            sampling,
            messages=messages,
            tools=tuple(_offered(tool, self.is_strict) for tool in self.question.tools),
            facts={"mode": self.mode},
            is_streamed=self.mode == STREAMED,
            case=self,
        )

    def judge(self, went: Steps, reasoning_parser: str | None) -> Verdict:
        """Failed with every fault of any of its exchanges, each named once; else passed."""
        faults = list(dict.fromkeys(self._faults(went)))
        return Verdict(not faults, "; ".join(faults) or None)

    def _faults(self, went: Steps) -> Iterator[str]:
        question, calling = self.question, [one for one in went if one.reading.tools.calls]
        if not question.facts or not calling:
            yield from call_faults(went[0], question.tools, question.wanted)
            yield from _html_faults(went[0], question.html)
            return
        called = [call.name for one in calling for call in one.reading.tools.ordered]
        if missing := sorted(set(question.wanted) - set(called)):
            yield f"{' and '.join(missing)} was never called"
        for one in calling:
            yield from call_faults(one, question.tools, [call.name for call in one.reading.tools.ordered])
        yield from text_faults(went[-1], question.facts)


@dataclass(frozen=True, slots=True)
class ReasoningCase:
    """Whether thinking comes in a field of its own, where the server's command asks for that."""

    mode: str
    suite: str = SUITE
    name: str = REASONING

    def follow(self, went: Steps) -> PlannedRequest | None:
        """None: the case is one request."""
        return None

    def judge(self, went: Steps, reasoning_parser: str | None) -> Verdict:
        """Passed when thinking came in its own field alone; not tried where none came and no parser is named."""
        text, has_thought = text_of(went[0]), bool(went[0].reading.thought)
        if not has_thought and reasoning_parser is None:
            return Verdict(None, "The server's command names no reasoning parser.")
        if not has_thought:
            return Verdict(False, f"no reasoning field came, although the parser {reasoning_parser} is named")
        if found := THINKING_TAG.search(text):
            return Verdict(False, f"the tag {quoted(found[0])} leaked into the text")
        return Verdict(True)


def _offered(tool: Tool, is_strict: bool) -> Message:
    schema = tool.as_json()
    return {**schema, "function": {**schema["function"], "strict": True}} if is_strict else schema


def _spoken(one: Exchange) -> Message:
    """The answer as the history has it."""
    calls: list[JsonValue] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in one.reading.tools.ordered
    ]
    return {"role": "assistant", "content": text_of(one) or None, "tool_calls": calls}


def _html_faults(one: Exchange, wanted: str | None) -> Iterator[str]:
    """Whether the HTML came as it was asked for, white space aside."""
    calls = [call for call in one.reading.tools.ordered if call.name == PAGE.name and call.parses]
    if wanted is None or not calls:
        return
    given = str(orjson.loads(calls[0].arguments).get("html"))
    if "".join(given.split()) != "".join(wanted.split()):
        yield f"the HTML is not the one that was asked for: {quoted(given)}"


def build(params: ToolMatrixParams) -> Plan:
    """Every case once in each mode, one after the other."""
    plain = params.sampled(params.max_tokens, params.temperature, ignore_eos=False)
    chosen = plain if params.tool_choice == "auto" else {**plain, "tool_choice": params.tool_choice}
    cases = [ToolCase(question, mode, chosen, params.strict) for question in QUESTIONS for mode in (STREAMED, WHOLE)]
    requests = [case.first() for case in cases]
    requests += [_reasoning(mode, plain) for mode in (STREAMED, WHOLE)]
    return [Phase("Tool calls", "measure", 1, tuple(requests))]


def _reasoning(mode: str, sampling: Mapping[str, JsonValue]) -> PlannedRequest:
    return PlannedRequest(
        REASONING, PUZZLE, sampling, facts={"mode": mode}, is_streamed=mode == STREAMED, case=ReasoningCase(mode)
    )


TOOL_MATRIX = Workload(
    name="tool-matrix",
    title="Tool calls: the matrix",
    summary="Seven cases, streamed and whole: calls, parallel calls, a choice, HTML, results, a loop, reasoning.",
    params_type=ToolMatrixParams,
    build=build,
    has_cases=True,
)
