"""Widget state synced with the URL query, so that Back, Forward, a reload and a pasted link restore it.

A choice is written to the URL only if it differs from what the URL means, and never if it is the default: opening a
page adds no entry to the browser's history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from web.url_presses import set_url_params

Value = TypeVar("Value")
FOLD = "fold"  # URL parameter: the sections that are not in their initial state


@dataclass(frozen=True)
class _WidgetState:
    """The initial value a widget was last created with, and what the URL has meant since."""

    generation: int
    initial_value: Any
    url_value: object
    is_rendered: bool = False


@dataclass(frozen=True)
class Widget:
    """A widget whose value follows the URL: when the URL changes, the widget is recreated under a new key.

    A browser that is still rendering sends its previous value. Under the same key Streamlit would take that for a
    choice and the page would write it to the URL; a value sent for an older key is ignored.
    """

    name: str

    @property
    def key(self) -> str:
        """The current Streamlit key."""
        return self._key(_widget_states().get(self.name))

    def begin(self, url_value: Value, is_valid: Callable[[Value], bool] = lambda _: True) -> Value:
        """Return the initial value, before the widget is created: `url_value` if something else changed the URL.

        is_valid: whether an earlier initial value can still be used; its option may no longer exist.
        """
        states = _widget_states()
        state = states.get(self.name)
        # Streamlit forgets a widget when another page is shown.
        is_forgotten = state is not None and state.is_rendered and self._key(state) not in st.session_state
        if state is None or is_forgotten or state.url_value != url_value or not is_valid(state.initial_value):
            states[self.name] = state = _WidgetState(
                generation=state.generation + 1 if state else 0, initial_value=url_value, url_value=url_value
            )
        initial_value: Value = state.initial_value
        return initial_value

    def set_url_value(self, url_value: object) -> None:
        """Record what the URL means now, after the widget was created."""
        states = _widget_states()
        if state := states.get(self.name):
            states[self.name] = replace(state, url_value=url_value, is_rendered=True)

    def shown_value(self, initial_value: Value) -> Value:
        """Return the value that the widget will show, before it is created."""
        state = _widget_states().get(self.name)
        if state is None or not state.is_rendered:
            return initial_value
        value: Value = st.session_state.get(self._key(state), initial_value)
        return value

    def _key(self, state: _WidgetState | None) -> str:
        return f"{self.name}.{state.generation}" if state and state.generation else self.name


def _widget_states() -> dict[str, _WidgetState]:
    """Return the states of this session's widgets by name, in one entry: Streamlit takes 0.1 ms to miss an entry."""
    states: dict[str, _WidgetState] = st.session_state.setdefault("url-widgets", {})
    return states


@dataclass(frozen=True)
class UrlChoice(Generic[Value]):
    """One widget's value, held in the URL parameter `name`."""

    name: str
    widget: Widget
    parse: Callable[[Sequence[str]], Value]
    format: Callable[[Value], Sequence[str]]

    @property
    def key(self) -> str:
        """The widget's key; valid once `initial_value` was called."""
        return self.widget.key

    def initial_value(self) -> Value:
        """Return the value to create the widget with: the URL's, unless the widget itself wrote it there."""
        url_value = self.parse(st.query_params.get_all(self.name))
        return self.widget.begin(url_value, lambda value: self.parse(self.format(value)) == value)

    def current_value(self) -> Value:
        """Return the value that the widget will show, before it is created."""
        return self.widget.shown_value(self.initial_value())

    def save(self, selected: Value | None) -> Value:
        """Write the selected value to the URL and return it; None, as while a widget is recreated, means the URL's."""
        url_values = st.query_params.get_all(self.name)
        url_value = self.parse(url_values)
        value = url_value if selected is None else selected
        new_values = list(self.format(value))
        if value != url_value and new_values != url_values:
            if new_values:
                st.query_params[self.name] = new_values
            else:
                del st.query_params[self.name]
            url_value = self.parse(new_values)
        self.widget.set_url_value(url_value)
        return value


def single_choice(name: str, key: str, options: Sequence[str], default: str) -> UrlChoice[str]:
    """One of the options; `default` if the URL names none of them."""
    return UrlChoice(
        name,
        Widget(key),
        lambda url_values: url_values[0] if url_values and url_values[0] in options else default,
        lambda value: [] if value == default else [value],
    )


def multiple_choice(name: str, key: str, options: Sequence[str], default: Sequence[str] = ()) -> UrlChoice[list[str]]:
    """Several of the options, in order; unknown values in the URL are ignored."""
    return UrlChoice(
        name,
        Widget(key),
        lambda url_values: [value for value in dict.fromkeys(url_values) if value in options] or list(default),
        lambda value: [] if value == list(default) else value,
    )


def text_choice(name: str, key: str) -> UrlChoice[str]:
    """A text, empty by default. NULs are removed, since no SQL statement can hold one."""
    return UrlChoice(
        name,
        Widget(key),
        lambda url_values: url_values[0].replace("\0", "") if url_values else "",
        lambda value: [value] if value else [],
    )


def switch_choice(name: str, key: str) -> UrlChoice[bool]:
    """A switch, off by default."""
    return UrlChoice(name, Widget(key), lambda url_values: url_values == ["1"], lambda is_on: ["1"] if is_on else [])


def address_button(label: str, key: str, params: Mapping[str, Sequence[str]], retained: Collection[str] = ()) -> None:
    """A button that reopens this page with other URL parameters; a page link would leave the browser's URL unchanged.

    retained_params: the names of current parameters to keep.
    """
    st.button(label, key=key, type="tertiary", on_click=set_address, args=(params, retained), width="content")


def set_address(params: Mapping[str, Sequence[str]], retained: Collection[str] = ()) -> None:
    """Set the URL's parameters to `params`, keeping only the current values of `retained_params`."""
    retained_params = {name: st.query_params.get_all(name) for name in retained if name in st.query_params}
    set_url_params({**params, **retained_params})


def choose_one(
    title: str,
    name: str,
    page: str,
    options: Mapping[str, str],
    default: str,
    width: int | Literal["stretch"],
    help_text: str | None = None,
) -> str:
    """A select box over `options` (value -> label), synced with the URL."""
    choice = single_choice(name, f"{page}-{name}", list(options), default)
    index = list(options).index(choice.initial_value())
    label = options.__getitem__
    selected = st.selectbox(title, list(options), index, key=choice.key, format_func=label, width=width, help=help_text)
    return choice.save(selected)


def choose_segment(
    title: str,
    choice: UrlChoice[str],
    options: Mapping[str, str],
    shows_title: bool = False,
    help_text: str | None = None,
) -> str:
    """A row of buttons over `options` (value -> label), one of them pressed, synced with the URL."""
    selected = st.segmented_control(
        title,
        list(options),
        default=choice.initial_value(),
        key=choice.key,
        format_func=options.__getitem__,
        required=True,
        help=help_text,
        label_visibility="visible" if shows_title else "collapsed",
    )
    return choice.save(selected)


def choose_some(
    title: str,
    name: str,
    page: str,
    options: Mapping[str, str],
    placeholder: str,
    default: Sequence[str] = (),
    width: int | str = "stretch",
) -> list[str]:
    """A multi-select over `options` (value -> label), in the order of selection, synced with the URL."""
    choice = multiple_choice(name, f"{page}-{name}", list(options), default)
    initial_values = choice.initial_value()
    selected = st.multiselect(
        title,
        list(options),
        initial_values,
        key=choice.key,
        format_func=options.__getitem__,
        placeholder=placeholder,
        select_all=False,
        width=width,  # type: ignore[arg-type]
    )
    return choice.save(list(selected))


def url_expander(title: str, name: str, page: str, icon: str | None = None, is_open: bool = False) -> ExpanderContainer:
    """A collapsible section; the URL names the sections of a page that differ from their initial state."""
    url_value = f"no-{name}" if is_open else name
    widget = Widget(f"{page}-fold-{name}-{title}")  # Streamlit sees a new title as a new section
    url_values = st.query_params.get_all(FOLD)
    is_initially_open = widget.begin((url_value in url_values) != is_open)
    section = st.expander(title, is_initially_open, key=widget.key, icon=icon, on_change="rerun")
    if (section.open != is_open) != (url_value in url_values):
        st.query_params[FOLD] = (
            [value for value in url_values if value != url_value]
            if url_value in url_values
            else [*url_values, url_value]
        )
    widget.set_url_value(bool(section.open))
    return section


def open_section(title: str, name: str, page: str) -> ExpanderContainer | None:
    """Show a collapsible section; return it only if it is open, so that the content of a closed one costs nothing."""
    section = url_expander(title, name, page)
    return section if section.open else None


def open_popover(label: str, key: str, icon: str | None = None) -> PopoverContainer | None:
    """Show a button with a popover; return it only if it is open, so that the content of a closed one costs nothing.

    label: under another label Streamlit closes the popover.
    """
    popover = st.popover(label, key=key, icon=icon, on_change="rerun")
    return popover if popover.open else None
