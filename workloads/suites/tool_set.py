"""The tools of the tool matrix: what they take, held by pydantic on both sides, and what they answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain import JsonValue
from workloads.requests.tool_calls import ToolCall


class Arguments(BaseModel):
    """Nothing beyond the schema, and every value of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class WeatherArguments(Arguments):
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"


class TimeArguments(Arguments):
    city: str


class SumArguments(Arguments):
    numbers: list[float]


class PageArguments(Arguments):
    path: str
    html: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call; `result` is what it always answers."""

    name: str
    description: str
    arguments: type[Arguments]
    result: JsonValue

    def as_json(self) -> dict[str, JsonValue]:
        """As the API takes it."""
        function: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.arguments.model_json_schema(),
        }
        return {"type": "function", "function": function}

    def answer(self, call: ToolCall) -> dict[str, JsonValue]:
        """The message that brings its result."""
        return {"role": "tool", "tool_call_id": call.id or "", "content": json.dumps(self.result)}


WEATHER = Tool("get_weather", "The weather in a city now.", WeatherArguments, {"temperature": 17, "sky": "hail"})
TIME = Tool("get_local_time", "The local time in a city now.", TimeArguments, {"time": "04:52"})
SUM = Tool("add_numbers", "Add numbers up.", SumArguments, {"sum": 41})
PAGE = Tool("write_page", "Write an HTML page to a file.", PageArguments, {"written": True})
BY_NAME = {tool.name: tool for tool in (WEATHER, TIME, SUM, PAGE)}
