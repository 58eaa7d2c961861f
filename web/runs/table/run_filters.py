"""What is looked for among the runs that have ended; the address keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import streamlit as st

from domain import utc_now
from storage.ask.run_fields import FIELDS, FILTERED, FURTHER
from storage.ask.run_queries import RunChoices, RunFilter
from web.kept import Kept, choose_one, choose_some, kept_one, kept_some, kept_switch, kept_text
from web.runs.table.field_words import field_words

NAMES = {
    "engine": "Engine",
    "workload": "Workload",
    "kind": "Kind",
    "state": "State",
    "tag": "Tag",
    "mark": "Marked",
    "machine": "Machine",
} | {name: FIELDS[name].title for name in FILTERED}
FIRST = ("engine", "workload", "state")  # always in sight
STATES = ("finished", "failed")
MARKS = ("starred", "archived")
FIND_PX, CHOICE_PX = 236, 144
REST_PX = 3 * CHOICE_PX + 2 * 16  # three side by side where there is room
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
STARTED = {
    "": "any time",
    "day": "last 24 hours",
    "week": "last 7 days",
    "month": "last 30 days",
    "year": "last 365 days",
}
ORDERS = {
    "newest": "Newest first",
    "stream": "Stream, tok/s",
    "output": "Output, tok/s",
    "typical": "Typical, tok/s",
    "peak": "Peak, tok/s",
    "tokens_per_step": "Tokens/step",
    "acceptance": "Acceptance length",
    "name": "Name, A to Z",
    "state": "State",
    "workload": "Workload",
    "config": "Configuration",
}


def run_filters(
    choices: RunChoices, machines: Mapping[str, str], page: str = "runs", has_order: bool = True
) -> RunFilter:
    """The widgets of `page`, in one row, in step with the address; the rarer ones folded. `machines`: id -> title."""
    offered = _options(choices, machines)
    with st.container(horizontal=True, vertical_alignment="bottom"):  # two side by side on a phone
        words = _words(page)
        chosen = {name: _some(name, offered[name], page) for name in FIRST}
        started = choose_one("Started", "started", page, STARTED, "", CHOICE_PX)
        order_by, is_reversed = _order(page) if has_order else ("newest", False)
        rest = [name for name in offered if name not in FIRST]
        in_use = sum(bool(_kept(name, offered[name], page).now()) for name in rest)
        label = f"More filters: {in_use} in use" if in_use else "More filters"
        with (
            st.popover(label, key=f"{page}-more-filters"),
            st.container(horizontal=True, width=REST_PX, vertical_alignment="bottom"),
        ):
            chosen |= {name: _some(name, offered[name], page) for name in rest if name not in FURTHER}
            chosen |= _further({name: offered[name] for name in rest if name in FURTHER}, page)
    return RunFilter(
        words=tuple(words.lower().split()),
        engines=tuple(chosen["engine"]),
        workloads=tuple(chosen["workload"]),
        kinds=tuple(chosen["kind"]),
        states=tuple(chosen["state"]),
        tags=tuple(chosen["tag"]),
        marks=tuple(chosen["mark"]),
        machines=tuple(chosen.get("machine", ())),
        fields=tuple((name, tuple(chosen[name])) for name in FILTERED if chosen.get(name)),
        since=utc_now() - timedelta(days=DAYS[started]) if started else None,
        order_by=order_by,
        is_reversed=is_reversed,
    )


def _further(offered: Mapping[str, Mapping[str, str]], page: str) -> dict[str, list[str]]:
    """The filter of the field that is asked for, and of those that are in use."""
    if not offered:
        return {}
    in_use = [name for name in offered if _kept(name, offered[name], page).now() or st.query_params.get_all(name)]
    titles = {"": "choose one"} | {name: NAMES[name] for name in offered}
    asked = choose_one("Another field", "field", page, titles, "", CHOICE_PX)
    return {name: _some(name, offered[name], page) for name in offered if name in in_use or name == asked}


def _order(page: str) -> tuple[str, bool]:
    """By what, and whether the other way round; all runs are put in order, not those alone that are shown."""
    order_by = choose_one("In order of", "order", page, ORDERS, "newest", CHOICE_PX, "What is not known comes last.")
    kept = kept_switch("reversed", f"{page}-reversed")
    return order_by, kept.keep(st.toggle("Reversed", kept.take(), key=kept.key))


def filters_in_use(choices: RunChoices, machines: Mapping[str, str], page: str) -> int:
    """How many of the filters leave runs out, before their widgets are made."""
    offered = _options(choices, machines)
    some = sum(bool(_kept(name, options, page).now()) for name, options in offered.items())
    return some + bool(_find(page).now()) + bool(kept_one("started", f"{page}-started", list(STARTED), "").now())


def _kept(name: str, options: Mapping[str, str], page: str) -> Kept[list[str]]:
    return kept_some(name, f"{page}-{name}", list(options))


def _find(page: str) -> Kept[str]:
    return kept_text("find", f"{page}-find")


def _words(page: str) -> str:
    kept = _find(page)
    begun = kept.take()
    found = st.text_input("Find", begun, key=kept.key, placeholder="name, model, flag, cause, note ...", width=FIND_PX)
    return kept.keep(found)


def _some(name: str, options: Mapping[str, str], page: str) -> list[str]:
    placeholder = "not archived" if name == "mark" else "all"
    return choose_some(NAMES[name], name, page, options, placeholder, width=CHOICE_PX)


def _options(choices: RunChoices, machines: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What each filter offers, value -> words; the machines, and fields of configurations, where there are several."""
    offered: dict[str, Sequence[str]] = {"engine": choices.engines, "workload": choices.workloads, "state": STATES}
    offered |= {"kind": choices.kinds, "tag": choices.tags, "mark": MARKS}
    if len(choices.machines) > 1:
        offered["machine"] = choices.machines
    offered |= choices.fields
    return {name: {one: field_words(name, one, machines) for one in options} for name, options in offered.items()}
