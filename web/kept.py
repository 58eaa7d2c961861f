"""Choices that the address keeps: Back, Forward, a reload and a pasted link bring them again.

The address is written only where a choice is another than the address means, and a choice at its default is not
written: so a page that is opened adds nothing to the browser's history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from web.server.assets import STATIC

Value = TypeVar("Value")
FOLD = "fold"  # of the address: the sections that are open
_goes = st.components.v2.component("pitwall_go_to", js=(STATIC / "go_to.js").read_text())


@dataclass(frozen=True)
class Kept(Generic[Value]):
    """One widget's value under `name` in the address; `key` is the widget's."""

    name: str
    key: str
    read: Callable[[Sequence[str]], Value]
    write: Callable[[Value], Sequence[str]]

    def take(self) -> None:
        """Before the widget is made: give it what the address says, unless the widget itself wrote it there."""
        named = st.query_params.get_all(self.name)
        # Streamlit forgets a widget's value when another page is shown; what was written is remembered beside it.
        if self.key not in st.session_state or st.session_state.get(self._written) != named:
            st.session_state[self.key] = self.read(named)

    def now(self) -> Value:
        """What its widget is about to show, before it is made."""
        self.take()
        shown: Value = st.session_state[self.key]
        return shown

    def keep(self, chosen: Value | None) -> Value:
        """After it: have the address say what is chosen. A widget tells None while the browser makes it anew."""
        named = st.query_params.get_all(self.name)
        value = self.read(named) if chosen is None else chosen
        words = list(self.write(value))
        if value != self.read(named) and words != named:
            if words:
                st.query_params[self.name] = words
            else:
                del st.query_params[self.name]
        st.session_state[self._written] = st.query_params.get_all(self.name)
        return value

    @property
    def _written(self) -> str:
        return f"{self.key}-address"


def kept_one(name: str, key: str, options: Sequence[str], default: str) -> Kept[str]:
    """One of the options; `default` where the address says nothing, or none of them."""
    return Kept(
        name,
        key,
        lambda named: named[0] if named and named[0] in options else default,
        lambda value: [] if value == default else [value],
    )


def kept_some(name: str, key: str, options: Sequence[str], default: Sequence[str] = ()) -> Kept[list[str]]:
    """Some of the options in an order; those of the address that are none are passed over."""
    return Kept(
        name,
        key,
        lambda named: [one for one in dict.fromkeys(named) if one in options] or list(default),
        lambda value: [] if value == list(default) else value,
    )


def kept_text(name: str, key: str) -> Kept[str]:
    """A text; empty where the address says nothing. A NUL is none of it: no statement can hold one."""
    return Kept(
        name, key, lambda named: named[0].replace("\0", "") if named else "", lambda value: [value] if value else []
    )


def address_button(label: str, key: str, params: Mapping[str, Sequence[str]]) -> None:
    """A button that shows this page at another address; a page link would leave the browser's own as it was."""
    st.button(label, key=key, type="tertiary", on_click=_go, args=(params,), width="content")


def _go(params: Mapping[str, Sequence[str]]) -> None:
    st.query_params.from_dict({name: list(values) for name, values in params.items()})


def go_to(address: str, replaces: bool = False) -> None:
    """Lead the browser to an address of ours, such as 'run?run=a'; Back leads to this page as it is.

    replaces: Back passes this page over, which would only lead on again. The script goes on until the browser asks.
    """
    with st.container(key="unseen-go-to"):  # takes no room: web/static/pitwall.css
        _goes(key=f"go-to-{address}", data={"address": address, "replaces": replaces})


def choose_one(
    title: str, name: str, page: str, options: Mapping[str, str], default: str, width: int, help_text: str | None = None
) -> str:
    """A select box over `options` (value -> words) whose choice the address keeps."""
    kept = kept_one(name, f"{page}-{name}", list(options), default)
    kept.take()
    chosen = st.selectbox(
        title, list(options), key=kept.key, format_func=options.__getitem__, width=width, help=help_text
    )
    return kept.keep(chosen)


def choose_some(
    title: str,
    name: str,
    page: str,
    options: Mapping[str, str],
    placeholder: str,
    default: Sequence[str] = (),
    width: int | str = "stretch",
) -> list[str]:
    """A box of several of `options` (value -> words), in the order in which they are chosen; the address keeps them."""
    kept = kept_some(name, f"{page}-{name}", list(options), default)
    kept.take()
    chosen = st.multiselect(
        title,
        list(options),
        key=kept.key,
        format_func=options.__getitem__,
        placeholder=placeholder,
        width=width,  # type: ignore[arg-type]
    )
    return kept.keep(list(chosen))


def fold(title: str, name: str, page: str, icon: str | None = None) -> ExpanderContainer:
    """A section that is folded away; the address names those of a page that are not."""
    key, folds = f"{page}-fold-{name}", st.query_params.get_all(FOLD)
    if key not in st.session_state or st.session_state.get(f"{key}-address") != (name in folds):
        st.session_state[key] = name in folds
    section = st.expander(title, key=key, icon=icon, on_change="rerun")
    if section.open != (name in folds):
        st.query_params[FOLD] = [*folds, name] if section.open else [one for one in folds if one != name]
    st.session_state[f"{key}-address"] = bool(section.open)
    return section
