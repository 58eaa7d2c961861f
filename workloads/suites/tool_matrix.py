"""'tool-matrix': checks a server's tool calls case by case, streamed and not streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson
from pydantic import Field

from analysis.loads.check_items import depth_title
from domain import JsonValue
from workloads.plan import CaseVerdict, Message, Params, Phase, Plan, PlannedRequest, Workload
from workloads.requests.exchange import Exchange
from workloads.suites.cases import MAX_STEPS, STREAMED, WHOLE
from workloads.suites.tool_faults import THINKING_TAG, call_faults, quoted, text_faults, text_of
from workloads.suites.tool_set import BY_NAME, PAGE, SUM, TIME, WEATHER, Tool
from workloads.texts.long_history import SeededDialogue

SUITE = "tool calls"
HTML = '<div class="lap"><p>1 &lt; 2</p><br/><a href="/pit?a=1&b=2">box</a></div>'
SYSTEM = "Use the tools that you are given. Once you have their results, answer in one sentence with their very values."
Steps = Sequence[Exchange]


class ToolMatrixParams(Params):
    """Parameters of 'tool-matrix'."""

    endpoint: Literal["chat"] = "chat"
    max_tokens: int = Field(default=1024, ge=16, le=100_000)  # per answer, including thinking
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    tool_choice: Literal["auto", "required"] = "auto"  # of the first request of a case
    strict: bool = False  # request arguments that follow the tool's schema; some servers follow it only then


@dataclass(frozen=True, slots=True)
class Question:
    """A case's question and its expected answers; `facts` come from the tools and must be in the last answer."""

    name: str
    text: str
    tools: tuple[Tool, ...]
    expected_calls: tuple[str, ...]  # tools to be called; in a loop one after the other or together
    facts: tuple[str, ...] = ()  # empty: the case ends with the calls
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
    """A question in one mode."""

    question: Question
    mode: str
    sampling: Mapping[str, JsonValue]
    is_strict: bool = False
    suite: str = SUITE
    tools: tuple[Tool, ...] = ()  # offered; empty: the question's
    history: SeededDialogue | None = None  # before the question
    repeat: int | None = None  # number of the history, from 1

    @property
    def depth_tokens(self) -> int | None:
        return self.history.tokens if self.history else None

    @property
    def name(self) -> str:
        return self.question.name

    def first_request(self) -> PlannedRequest:
        """Return the first request of the case: system prompt, history, question and tools."""
        messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": self.question.text})
        return replace(self._request(messages, self.sampling), history=self.history)

    def follow(self, exchanges: Steps) -> PlannedRequest | None:
        """Return a request with the results of the calls, if the question needs them; None: the case is complete."""
        last_exchange = exchanges[-1]
        calls = last_exchange.reading.tools.ordered
        if not self.question.facts or last_exchange.error_kind or not calls or len(exchanges) >= MAX_STEPS:
            return None
        if any(call.name not in BY_NAME for call in calls):
            return None
        history = [dict(message) for message in last_exchange.body["messages"]]
        results = [BY_NAME[call.name].answer(call) for call in calls]
        later_sampling = {name: value for name, value in self.sampling.items() if name != "tool_choice"}
        return self._request((*history, _answer_message(last_exchange), *results), later_sampling)

    def _request(self, messages: tuple[Message, ...], sampling: Mapping[str, JsonValue]) -> PlannedRequest:
        return PlannedRequest(
            self.name if self.depth_tokens is None else depth_title(self.depth_tokens),
            "",
            sampling,
            messages=messages,
            tools=tuple(_tool_schema(tool, self.is_strict) for tool in self._offered_tools),
            facts={"mode": self.mode},
            is_streamed=self.mode == STREAMED,
            case=self,
        )

    @property
    def _offered_tools(self) -> tuple[Tool, ...]:
        return self.tools or self.question.tools

    def judge(self, exchanges: Steps, reasoning_parser: str | None) -> CaseVerdict:
        """Fail with all distinct faults of the exchanges; pass without faults."""
        faults = list(dict.fromkeys(self._faults(exchanges)))
        return CaseVerdict(not faults, "; ".join(faults) or None)

    def _faults(self, exchanges: Steps) -> Iterator[str]:
        question, call_exchanges = self.question, [exchange for exchange in exchanges if exchange.reading.tools.calls]
        if not question.facts or not call_exchanges:
            yield from call_faults(exchanges[0], self._offered_tools, question.expected_calls)
            yield from _html_faults(exchanges[0], question.html)
            return
        called_names = [call.name for exchange in call_exchanges for call in exchange.reading.tools.ordered]
        if missing := sorted(set(question.expected_calls) - set(called_names)):
            yield f"{' and '.join(missing)} was never called"
        for exchange in call_exchanges:
            names = [call.name for call in exchange.reading.tools.ordered]
            yield from call_faults(exchange, self._offered_tools, names)
        yield from text_faults(exchanges[-1], question.facts)


@dataclass(frozen=True, slots=True)
class ReasoningCase:
    """Checks that thinking arrives in its own field, if the server's command requests that."""

    mode: str
    suite: str = SUITE
    name: str = REASONING
    depth_tokens: int | None = None
    repeat: int | None = None

    def follow(self, exchanges: Steps) -> PlannedRequest | None:
        """Return None: the case is one request."""
        return None

    def judge(self, exchanges: Steps, reasoning_parser: str | None) -> CaseVerdict:
        """Pass if thinking came only in its own field; not tested if none came and the command has no parser."""
        text, has_thought = text_of(exchanges[0]), bool(exchanges[0].reading.thinking)
        if not has_thought and reasoning_parser is None:
            return CaseVerdict(None, "The server's command names no reasoning parser.")
        if not has_thought:
            return CaseVerdict(
                False, f"no reasoning field came, although the command names the parser {reasoning_parser}"
            )
        if tag := THINKING_TAG.search(text):
            return CaseVerdict(False, f"the tag {quoted(tag[0])} leaked into the text")
        return CaseVerdict(True)


def _tool_schema(tool: Tool, is_strict: bool) -> Message:
    schema = tool.as_json()
    return {**schema, "function": {**schema["function"], "strict": True}} if is_strict else schema


def _answer_message(exchange: Exchange) -> Message:
    """Return the answer as a message of the chat history."""
    calls: list[JsonValue] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in exchange.reading.tools.ordered
    ]
    return {"role": "assistant", "content": text_of(exchange) or None, "tool_calls": calls}


def _html_faults(exchange: Exchange, expected_html: str | None) -> Iterator[str]:
    """Yield a fault if the HTML differs from the requested one, ignoring white space."""
    calls = [call for call in exchange.reading.tools.ordered if call.name == PAGE.name and call.has_valid_arguments]
    if expected_html is None or not calls:
        return
    html = str(orjson.loads(calls[0].arguments).get("html"))
    if "".join(html.split()) != "".join(expected_html.split()):
        yield f"the HTML differs from the requested one: {quoted(html)}"


def build(params: ToolMatrixParams) -> Plan:
    """Return a plan of every case once in each mode, one after the other."""
    sampling = params.sampling_for(params.max_tokens, params.temperature, ignore_eos=False)
    first_sampling = sampling if params.tool_choice == "auto" else {**sampling, "tool_choice": params.tool_choice}
    cases = [
        ToolCase(question, mode, first_sampling, params.strict) for question in QUESTIONS for mode in (STREAMED, WHOLE)
    ]
    requests = [case.first_request() for case in cases]
    requests += [_reasoning(mode, sampling) for mode in (STREAMED, WHOLE)]
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
