"""The form for a workload's parameters: an input for each field, within the workload's bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from domain import WATCH, JsonValue
from settings import load_settings
from web.actions import is_operator
from web.markup import markdown_text
from web.theme import duration
from workloads import REGISTRY
from workloads.forecast import ASSUMED_PREFILL_TPS, Forecast, forecast
from workloads.plan import Params
from workloads.shapes.agent_replay import AGENT_REPLAY
from workloads.texts.prompt_file import PlanError

FILE = "file"
ASSUMED_TPS = 50.0  # per stream, since the server's speed is unknown
TITLES = {
    "ttft_p95_ms": "Time to first token at most (95th percentile, ms)",
    "tpot_p95_ms": "Time per output token at most (95th percentile, ms)",
    "duration_s": "Stop sending after (seconds)",
    "rate_rps": "Requests per second",
    "rungs": "Concurrent streams at each rung",
    "concurrency": "Concurrent streams",
    "prompt_token_counts": "Prompt tokens (pp), one or several",
    "output_token_counts": "Output tokens (tg), one or several",
    "prompts": "Prompts, one per line",
    "file": "File on this machine",
    "endpoint": "Endpoint",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "limit": "Maximum items per task",
    "texts": "Texts, at most",
    "positions": "Positions per text and depth",
    "depths": "Depths in tokens, one or several",
    "greedy_tokens": "Greedy tokens after each text",
    "lowest": "Initial users",
    "most": "Maximum users",
    "answers": "Answers in later prompts",
    "max_pause_s": "Longest pause (seconds)",
    "max_prompt_tokens": "Prompt tokens in all, at most",
    "max_context_tokens": "Tokens of a request, at most",
    "speed_up": "Speed-up of pauses and arrivals",
    "subagents": "Subagents per session",
    "prefix_breaks": "Share of turns whose prefix breaks",
    "pause_s": "Pause of a tool (seconds)",
}
SHAPE_HELP = (
    "A shape that was saved on Run, Agent sessions, or the path of a shape or trace on this machine (JSON lines of "
    "Mooncake or AIPerf), at most 64 MiB. Without a file, the settings from 'Sessions' to 'Pause of a tool' apply."
)
HELP = {
    "answers": "The server's own: they come from its cache, as when recorded. Generated: every server gets the same "
    "requests, and computes the answers once more.",
    "max_pause_s": "Longer pauses and gaps between arrivals are shortened to this.",
    "speed_up": "Divides pauses and arrival times.",
    "replays": "One after the other. After a cold start each begins with other words.",
    "prefix_breaks": "Share of turns before which the prompt changes somewhere, so that the rest is computed again.",
    "sampling": "If left to the server, no temperature, seed or other sampling parameter is sent: its settings apply.",
    "prefix_cache": "Cold: every prompt begins with its own words, so that no prefix cache helps. Cold start: with "
    "those of this load, or of its chat in it, so that nothing from before helps.",
    "file": "JSON lines or plain text, at most 64 MiB; read again at every start.",
    "length_spread": "0.2: lengths are spread evenly between 80 % and 120 % of the requested length.",
    "token_scale": "Below 1 for a quick test: all limits shrink in proportion.",
}


def choose_params(workload: str, proposed: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
    """Show the parameters in a popover and return them; `proposed` are those of the run that is repeated or changed.

    If the workload refuses the values, the reason is shown and the proposed ones are returned.
    """
    if workload == WATCH.name:
        return {}
    definition = REGISTRY[workload]
    names = list(definition.params_type.model_fields)
    if FILE in names and not is_operator():  # planning reads the file and shows facts about it
        names.remove(FILE)
        if proposed.get(FILE):
            st.error("Only the operator may use a file on this machine; this load runs without it.")
        proposed = {**proposed, FILE: ""}
    defaults = definition.validate_params(proposed).model_dump(mode="json")
    common = [name for name in names if name in Params.model_fields]
    with st.popover("Load settings", icon=":material/tune:", help=definition.summary):
        st.caption(definition.summary)
        inputs = _inputs(
            definition.params_type, [name for name in names if name not in common], defaults, key, workload
        )
        with st.expander("Sampling, endpoint, prefix cache"):
            inputs |= _inputs(definition.params_type, common, defaults, key, workload)
    try:
        checked = definition.validate_params(inputs).model_dump(mode="json")
        st.caption(forecast_text(forecast(workload, checked, ASSUMED_TPS)))
    except ValidationError as error:
        st.error(f"{markdown_text(error_sentence(error))} The load keeps its proposed settings.")
        return defaults
    except PlanError as error:
        st.error(markdown_text(f"{error} The load keeps its proposed settings."))
        return defaults
    return checked


def forecast_text(expected: Forecast) -> str:
    """Return '14 requests and 1 to warm up, at most 9,792 output tokens: at least about 3:20 at 50 tok/s ...'."""
    more = " (more as the search goes on)" if expected.is_adaptive else ""
    warm = f" and {expected.warmup_requests} to warm up" if expected.warmup_requests else ""
    prompts = f"{expected.computed_prompt_tokens:,} prompt tokens and " if expected.computed_prompt_tokens else ""
    pace = f"{expected.stream_tps:g} tok/s per stream"
    if expected.computed_prompt_tokens:
        pace += f" and {ASSUMED_PREFILL_TPS:,.0f} prompt tok/s. Depths beyond the server's context are left out"
    return (
        f"{expected.requests:,} requests{warm}{more}, at most {prompts}{expected.output_tokens:,} output tokens: "
        f"at least about {duration(expected.seconds)} at {pace}."
    )


def error_sentence(error: ValidationError) -> str:
    """Return the first error of a load's parameters in a sentence that begins with the field's label."""
    first = error.errors(include_url=False)[0]
    return f"{field_title(str(first['loc'][0])) if first['loc'] else 'The load'}: {first['msg']}."


def field_title(name: str) -> str:
    """Return a field's label: 'token_scale' is 'Token scale'."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


def _inputs(
    kind: type[Params], names: Sequence[str], values: Mapping[str, JsonValue], key: str, workload: str
) -> dict[str, JsonValue]:
    fields = kind.model_fields
    if FILE in names and workload == AGENT_REPLAY.name:
        other_names = [name for name in names if name != FILE]
        return {FILE: _shape_file(str(values[FILE]), f"{key}-{workload}-{FILE}")} | _inputs(
            kind, other_names, values, key, workload
        )
    return {name: field_input(name, fields[name], values[name], f"{key}-{workload}-{name}") for name in names}


def _shape_file(value: str, key: str) -> str:
    """Show the choice of a saved shape, or of another file by its path; '' for none."""
    paths = [str(path) for path in sorted(load_settings().shapes_dir.glob("*.jsonl"))]
    options = list(dict.fromkeys([*paths, *([value] if value else [])]))
    selected = st.selectbox(
        "Shape, or trace", options, options.index(value) if value else None, key=key, accept_new_options=True,
        placeholder="none: generated from the seed", help=SHAPE_HELP,
    )  # fmt: skip
    return selected or ""


def field_input(name: str, field: FieldInfo, value: JsonValue, key: str) -> JsonValue:
    """Show the input for the field's type and return its value; an empty input of an optional field is None."""
    title, kind, help_text = field_title(name), field.annotation, HELP.get(name)
    is_optional = get_origin(kind) is Union or type(None) in get_args(kind)
    if is_optional:
        kind = next(arm for arm in get_args(kind) if arm is not type(None))
    if kind is bool:
        return st.checkbox(title, bool(value), key=key, help=help_text)
    if get_origin(kind) is Literal:
        options = list(get_args(kind))
        return st.selectbox(title, options, options.index(value), key=key, help=help_text)
    if kind in (int, float):
        return _number(title, field, kind, value, key, help_text)
    if kind is str:
        box = st.text_area if name == "prompts" else st.text_input
        return str(box(title, str(value), key=key, help=help_text) or "")
    text = st.text_input(title, ", ".join(map(str, value)), key=key, help="comma-separated numbers")
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(
    title: str, field: FieldInfo, kind: Any, value: JsonValue, key: str, help_text: str | None
) -> int | float | None:
    """Show a number input within the field's bounds; None if it is left empty."""
    number = st.number_input(
        title,
        *_bounds(field, kind),
        value=None if value is None else kind(value),
        step=kind(1) if kind is int else 0.05,
        key=key,
        help=help_text,
        placeholder="not set",
    )
    return None if number is None else kind(number)


def _bounds(field: FieldInfo, kind: type[Any]) -> tuple[Any, Any]:
    """Return the field's minimum and maximum, None if not set; a field that must be above 0 starts at 0.01."""
    metadata = [*field.metadata, *(m for arm in get_args(field.annotation) for m in getattr(arm, "__metadata__", ()))]
    low = next((kind(bound.ge) for bound in metadata if getattr(bound, "ge", None) is not None), None)
    above = next((bound.gt for bound in metadata if getattr(bound, "gt", None) is not None), None)
    high = next((kind(bound.le) for bound in metadata if getattr(bound, "le", None) is not None), None)
    return (0.01 if low is None and above == 0 else low), high
