"""Filters and order of the ended runs, kept in the URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import streamlit as st

from analysis.metrics.registry import LIST_COLUMNS
from domain import CANCELLED, utc_now
from storage.queries.run_fields import FIELDS, FILTER_FIELDS, FURTHER_FIELDS
from storage.queries.run_queries import RunChoices, RunFilter
from web.runs.table.field_words import field_value_text
from web.url_presses import change_url_params
from web.url_state import (
    UrlChoice,
    choose_one,
    choose_some,
    multiple_choice,
    open_popover,
    single_choice,
    switch_choice,
    text_choice,
)

NAMES = {
    "engine": "Engine",
    "workload": "Workload",
    "kind": "Kind",
    "state": "State",
    "tag": "Tag",
    "mark": "Marked",
    "machine": "Machine",
} | {name: FIELDS[name].title for name in FILTER_FIELDS}
VISIBLE_FILTERS = ("engine", "workload", "state")  # the others are in a popover
STATES = ("finished", "failed", CANCELLED)
MARKS = ("starred", "archived")
FIND_PX, CHOICE_PX = 236, 144
POPOVER_PX = 3 * CHOICE_PX + 2 * 16  # three side by side if there is room
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
STARTED = {
    "": "any time",
    "day": "last 24 hours",
    "week": "last 7 days",
    "month": "last 30 days",
    "year": "last 365 days",
}


ORDERS = {
    "newest": "Started",
    **{name: metric.title_with_unit for name, metric in LIST_COLUMNS.items()},
    "name": "Name",
    "state": "State",
    "workload": "Workload",
    "config": "Configuration",
}
# Names begin with A, and categories likewise; of times and numbers, the latest and largest come first.
ASCENDING_BY_DEFAULT = frozenset({"name", "state", "workload", "config"})


class RunFilters:
    """The filters of a page: their values before the widgets are created, then the widgets."""

    def __init__(self, choices: RunChoices, machines: Mapping[str, str], page: str = "runs") -> None:
        """machines: id -> title."""
        self._page = page
        self._options = _options(choices, machines)
        self._current = {
            name: _filter_choice(name, options, page).current_value() for name, options in self._options.items()
        }

    @property
    def active_count(self) -> int:
        """The number of filters in use."""
        started = single_choice("started", f"{self._page}-started", list(STARTED), "")
        own_filter_count = bool(_search_choice(self._page).current_value()) + bool(started.current_value())
        return sum(map(bool, self._current.values())) + own_filter_count

    def show(self) -> RunFilter:
        """Show the filters in one row, the rarer ones in a popover, and return their values."""
        with st.container(horizontal=True, vertical_alignment="bottom"):  # two side by side on a phone
            search = _choose_search(self._page)
            selected = {name: self._choose(name) for name in VISIBLE_FILTERS}
            started = choose_one("Started", "started", self._page, STARTED, "", CHOICE_PX)
            selected |= self._show_further()
        return RunFilter(
            words=tuple(search.lower().split()),
            engines=tuple(selected["engine"]),
            workloads=tuple(selected["workload"]),
            kinds=tuple(selected["kind"]),
            states=tuple(selected["state"]),
            tags=tuple(selected["tag"]),
            marks=tuple(selected["mark"]),
            machines=tuple(selected.get("machine", ())),
            fields=tuple((name, tuple(selected[name])) for name in FILTER_FIELDS if selected.get(name)),
            since=utc_now() - timedelta(days=DAYS[started]) if started else None,
        )

    def _show_further(self) -> dict[str, list[str]]:
        """Show the rarer filters in a popover, and return all of them."""
        selected = {name: value for name, value in self._current.items() if name not in VISIBLE_FILTERS}
        active_count = sum(map(bool, selected.values()))
        popover = open_popover("More filters", f"{self._page}-more-filters")
        if active_count:
            st.caption(f"{active_count} in use", width="content")
        if not popover:
            return selected
        with popover, st.container(horizontal=True, width=POPOVER_PX, vertical_alignment="bottom"):
            always_shown = {name: self._choose(name) for name in selected if name not in FURTHER_FIELDS}
            return selected | always_shown | self._show_fields()

    def _show_fields(self) -> dict[str, list[str]]:
        """Show the filters of the requested field and of the fields in use."""
        names = [name for name in self._options if name in FURTHER_FIELDS]
        if not names:
            return {}
        titles = {"": "choose one"} | {name: NAMES[name] for name in names}
        requested = choose_one("Another field", "field", self._page, titles, "", CHOICE_PX)
        is_shown = {name: self._current[name] or st.query_params.get_all(name) or name == requested for name in names}
        return {name: self._choose(name) for name in names if is_shown[name]}

    def _choose(self, name: str) -> list[str]:
        placeholder = "not archived" if name == "mark" else "all"
        return choose_some(NAMES[name], name, self._page, self._options[name], placeholder, width=CHOICE_PX)


def choose_order(run_filter: RunFilter, page: str = "runs") -> RunFilter:
    """Show the choice of the order and return the filter with it; it applies to all runs, not only to those shown."""
    order_by = choose_one("Sort by", "order", page, ORDERS, "newest", CHOICE_PX, "Unknown values come last.")
    choice = switch_choice("reversed", f"{page}-reversed")
    label = "Descending" if order_by in ASCENDING_BY_DEFAULT else "Ascending"
    is_reversed = choice.save(st.toggle(label, choice.initial_value(), key=choice.key))
    return replace(run_filter, order_by=order_by, is_reversed=is_reversed)


def is_ascending(order_by: str, is_reversed: bool) -> bool:
    """Whether the smallest, the earliest or the first of the alphabet comes first."""
    return (order_by in ASCENDING_BY_DEFAULT) != is_reversed


@contextmanager
def filter_rows(active_count: int) -> Iterator[None]:
    """Hold the rows of filters and choices; a narrow window folds them behind a switch (pitwall.css)."""
    label = f"Filters and columns: {active_count} in use" if active_count else "Filters and columns"
    with st.container(key="run-filters"):
        st.toggle(label, key="show-run-filters")
        with st.container(key="run-filter-rows"):
            yield


def show_no_match() -> None:
    """Say that no run matches the filters, with the button that removes them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("No runs match.", width="content")
        st.button("Clear filters", key="clear-filters", on_click=clear_filters)


def clear_filters() -> None:
    """Remove every filter from the URL; the order, the groups and the columns stay."""
    change_url_params(dict.fromkeys(("find", "started", "field", *NAMES), ()))


def _filter_choice(name: str, options: Mapping[str, str], page: str) -> UrlChoice[list[str]]:
    return multiple_choice(name, f"{page}-{name}", list(options))


def _search_choice(page: str) -> UrlChoice[str]:
    return text_choice("find", f"{page}-find")


def _choose_search(page: str) -> str:
    choice = _search_choice(page)
    initial_text = choice.initial_value()
    text = st.text_input(
        "Find", initial_text, key=choice.key, placeholder="name, model, flag, cause, note ...", width=FIND_PX
    )
    return choice.save(text)


def _options(choices: RunChoices, machines: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return filter -> {value: label}; machines and configuration fields only if they have several values."""
    options_by_name: dict[str, Sequence[str]] = {
        "engine": choices.engines,
        "workload": choices.workloads,
        "state": STATES,
    }
    options_by_name |= {"kind": choices.kinds, "tag": choices.tags, "mark": MARKS}
    if len(choices.machines) > 1:
        options_by_name["machine"] = choices.machines
    options_by_name |= choices.fields
    return {
        name: {value: field_value_text(name, value, machines) for value in options}
        for name, options in options_by_name.items()
    }
