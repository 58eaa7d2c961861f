"""The parameters of a workload on the page: an input for each field, with the bounds that the workload sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from domain import WATCH, JsonValue
from web.actions import is_operator
from web.markup import markdown_text
from web.theme import duration
from workloads import REGISTRY
from workloads.forecast import Forecast, forecast
from workloads.plan import Params
from workloads.texts.prompt_file import PlanError

FILE = "file"
ASSUMED_TPS = 50.0  # of one stream, where nothing is known of the server
TITLES = {
    "ttft_p95_ms": "Time to first token at most (95th percentile, ms)",
    "tpot_p95_ms": "Time per output token at most (95th percentile, ms)",
    "duration_s": "Send no more after (seconds)",
    "rate_rps": "Requests per second",
    "rungs": "Streams at once, rung by rung",
    "concurrency": "Streams at once",
    "prompts": "Prompts, a line each",
    "file": "File on this machine",
    "endpoint": "Endpoint",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "limit": "Items of each task at most",
    "lowest": "Users to begin with",
    "most": "Users at most",
}
HELP = {
    "sampling": "Left to the server, no temperature, seed or other sampling is sent: its own settings apply.",
    "prefix_cache": "Cold: every prompt begins with words of its own, so that no cache of prefixes helps.",
    "file": "JSON lines or plain text, at most 64 MiB; read again at every start.",
    "length_spread": "0.2: lengths lie evenly between 80 % and 120 % of what is asked.",
    "token_scale": "Below 1 for a quick look: all limits shrink alike.",
}


def choose_params(workload: str, proposed: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
    """What the person set, in a popover; `proposed` are those of the run that this one repeats or changes.

    Values that the workload refuses are named, and the proposed ones hold.
    """
    if workload == WATCH.name:
        return {}
    known = REGISTRY[workload]
    names = list(known.params_type.model_fields)
    if FILE in names and not is_operator():  # planning reads it: what it says of a file is for the operator alone
        names.remove(FILE)
        if proposed.get(FILE):
            st.error("Only the operator may use a file of this machine: this load is without it.")
        proposed = {**proposed, FILE: ""}
    defaults = known.checked(proposed).model_dump(mode="json")
    common = [name for name in names if name in Params.model_fields]
    with st.popover("Load settings", icon=":material/tune:", help=known.summary):
        st.caption(known.summary)
        given = _inputs(known.params_type, [name for name in names if name not in common], defaults, key, workload)
        with st.expander("Sampling, endpoint, prefix cache"):
            given |= _inputs(known.params_type, common, defaults, key, workload)
    try:
        checked = known.checked(given).model_dump(mode="json")
        st.caption(words_of(forecast(workload, checked, ASSUMED_TPS)))
    except ValidationError as error:
        st.error(f"{markdown_text(sentence_of(error))} The load is as it was proposed.")
        return defaults
    except PlanError as error:
        st.error(markdown_text(f"{error} The load is as it was proposed."))
        return defaults
    return checked


def words_of(expected: Forecast) -> str:
    """'14 requests and 1 to warm up, at most 9,792 output tokens: at least about 3:20 at 50 tok/s a stream.'"""
    more = " to begin with, more as it finds out" if expected.is_adaptive else ""
    warm = f" and {expected.warmup_requests} to warm up" if expected.warmup_requests else ""
    return (
        f"{expected.requests:,} requests{warm}{more}, at most {expected.output_tokens:,} output tokens: "
        f"at least about {duration(expected.seconds)} at {expected.stream_tps:g} tok/s a stream."
    )


def sentence_of(error: ValidationError) -> str:
    """The first fault of a load's parameters, in a sentence that begins with the field's label."""
    first = error.errors(include_url=False)[0]
    return f"{title_of(str(first['loc'][0])) if first['loc'] else 'The load'}: {first['msg']}."


def title_of(name: str) -> str:
    """'token_scale' as a label: 'Token scale'."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


def _inputs(
    kind: type[Params], names: Sequence[str], values: Mapping[str, JsonValue], key: str, workload: str
) -> dict[str, JsonValue]:
    fields = kind.model_fields
    return {name: field_input(name, fields[name], values[name], f"{key}-{workload}-{name}") for name in names}


def field_input(name: str, field: FieldInfo, value: JsonValue, key: str) -> JsonValue:
    """The input that fits the field's type; an empty one of a field that may be left out is none."""
    title, kind, help_text = title_of(name), field.annotation, HELP.get(name)
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
    text = st.text_input(title, ", ".join(map(str, value)), key=key, help="numbers with commas between them")
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(
    title: str, field: FieldInfo, kind: Any, value: JsonValue, key: str, help_text: str | None
) -> int | float | None:
    """A number within the field's bounds; None where it is left out."""
    given = st.number_input(
        title,
        *_bounds(field, kind),
        value=None if value is None else kind(value),
        step=kind(1) if kind is int else 0.05,
        key=key,
        help=help_text,
        placeholder="not set",
    )
    return None if given is None else kind(given)


def _bounds(field: FieldInfo, kind: type[Any]) -> tuple[Any, Any]:
    """The least and the most that the field takes, None where it does not say; what must be above 0 begins at 0.01."""
    metadata = [*field.metadata, *(m for arm in get_args(field.annotation) for m in getattr(arm, "__metadata__", ()))]
    low = next((kind(one.ge) for one in metadata if getattr(one, "ge", None) is not None), None)
    above = next((one.gt for one in metadata if getattr(one, "gt", None) is not None), None)
    high = next((kind(one.le) for one in metadata if getattr(one, "le", None) is not None), None)
    return (0.01 if low is None and above == 0 else low), high
