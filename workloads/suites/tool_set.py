"""Tools of the tool matrix: their arguments as pydantic models, and their fixed results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain import JsonValue
from workloads.requests.tool_calls import ToolCall


class Arguments(BaseModel):
    """Base of all arguments: no extra fields, strict types."""

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
    """A function that a model may call; `result` is its constant answer."""

    name: str
    description: str
    arguments: type[Arguments]
    result: JsonValue

    def as_json(self) -> dict[str, JsonValue]:
        """Return the tool in the API's format."""
        function: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.arguments.model_json_schema(),
        }
        return {"type": "function", "function": function}

    def answer(self, call: ToolCall) -> dict[str, JsonValue]:
        """Return the message with the tool's result."""
        return {"role": "tool", "tool_call_id": call.id or "", "content": json.dumps(self.result)}


WEATHER = Tool("get_weather", "The weather in a city now.", WeatherArguments, {"temperature": 17, "sky": "hail"})
TIME = Tool("get_local_time", "The local time in a city now.", TimeArguments, {"time": "04:52"})
SUM = Tool("add_numbers", "Add numbers up.", SumArguments, {"sum": 41})
PAGE = Tool("write_page", "Write an HTML page to a file.", PageArguments, {"written": True})
BY_NAME = {tool.name: tool for tool in (WEATHER, TIME, SUM, PAGE)}
