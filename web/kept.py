"""Choices that the address keeps: Back, Forward, a reload and a pasted link bring them again.

The address is written only where a choice is another than the address means, and a choice at its default is not
written: so a page that is opened adds nothing to the browser's history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from web.server.assets import STATIC, assets_url

Value = TypeVar("Value")
FOLD = "fold"  # of the address: the sections that are open
_goes = st.components.v2.component("pitwall_go_to", js=(STATIC / "component_loader.js").read_text())


@dataclass(frozen=True)
class _Begun:
    """How a widget was begun the last time, and what the address has meant since."""

    number: int
    value: Any
    meant: object
    is_made: bool = False


@dataclass(frozen=True)
class Widget:
    """A widget whose value follows the address: it begins anew, under another key, when the address says another thing.

    A browser that is still drawing sends the value that it had before. Under the same key Streamlit would take that for
    a choice, and the page would write it into the address; what it sends for an older key counts for nothing.
    """

    name: str

    @property
    def key(self) -> str:
        """What Streamlit is to know it by now."""
        return f"{self.name}.{self._now.number}" if self._now and self._now.number else self.name

    def begin(self, meant: Value, stands: Callable[[Value], bool] = lambda _: True) -> Value:
        """Before it is made: the value to begin with, `meant` where other hands have made the address mean that.

        stands: whether it can still begin with a value that it was once begun with; an option may have gone.
        """
        now = self._now
        # Streamlit forgets a widget when another page is shown.
        is_forgotten = now is not None and now.is_made and self.key not in st.session_state
        if now is None or is_forgotten or now.meant != meant or not stands(now.value):
            now = _Begun(number=now.number + 1 if now else 0, value=meant, meant=meant)
            st.session_state[self._place] = now
        begun: Value = now.value
        return begun

    def wrote(self, meant: object) -> None:
        """After it: what the address means now."""
        if self._now:
            st.session_state[self._place] = replace(self._now, meant=meant, is_made=True)

    @property
    def _now(self) -> _Begun | None:
        begun: _Begun | None = st.session_state.get(self._place)
        return begun

    @property
    def _place(self) -> str:
        return f"{self.name}-begun"


@dataclass(frozen=True)
class Kept(Generic[Value]):
    """One widget's value under `name` in the address."""

    name: str
    widget: Widget
    read: Callable[[Sequence[str]], Value]
    write: Callable[[Value], Sequence[str]]

    @property
    def key(self) -> str:
        """The widget's, once `take` was called."""
        return self.widget.key

    def take(self) -> Value:
        """Before the widget is made: what it begins with, as the address says unless the widget itself wrote that."""
        meant = self.read(st.query_params.get_all(self.name))
        return self.widget.begin(meant, lambda begun: self.read(self.write(begun)) == begun)

    def now(self) -> Value:
        """What its widget is about to show, before it is made."""
        begun = self.take()
        shown: Value = st.session_state.get(self.key, begun)
        return shown

    def keep(self, chosen: Value | None) -> Value:
        """After it: have the address say what is chosen. A widget reports None while the browser makes it anew."""
        named = st.query_params.get_all(self.name)
        value = self.read(named) if chosen is None else chosen
        words = list(self.write(value))
        if value != self.read(named) and words != named:
            if words:
                st.query_params[self.name] = words
            else:
                del st.query_params[self.name]
        self.widget.wrote(self.read(st.query_params.get_all(self.name)))
        return value


def kept_one(name: str, key: str, options: Sequence[str], default: str) -> Kept[str]:
    """One of the options; `default` where the address says nothing, or none of them."""
    return Kept(
        name,
        Widget(key),
        lambda named: named[0] if named and named[0] in options else default,
        lambda value: [] if value == default else [value],
    )


def kept_some(name: str, key: str, options: Sequence[str], default: Sequence[str] = ()) -> Kept[list[str]]:
    """Some of the options in an order; those of the address that are none are passed over."""
    return Kept(
        name,
        Widget(key),
        lambda named: [one for one in dict.fromkeys(named) if one in options] or list(default),
        lambda value: [] if value == list(default) else value,
    )


def kept_text(name: str, key: str) -> Kept[str]:
    """A text; empty where the address says nothing. A NUL is none of it: no statement can hold one."""
    return Kept(
        name,
        Widget(key),
        lambda named: named[0].replace("\0", "") if named else "",
        lambda value: [value] if value else [],
    )


def kept_switch(name: str, key: str) -> Kept[bool]:
    """On or off; off where the address says nothing."""
    return Kept(name, Widget(key), lambda named: named == ["1"], lambda is_on: ["1"] if is_on else [])


def address_button(label: str, key: str, params: Mapping[str, Sequence[str]], stays: Collection[str] = ()) -> None:
    """A button that shows this page at another address; a page link would leave the browser's own as it was.

    stays: the words of the address that are to stay in it.
    """
    st.button(label, key=key, type="tertiary", on_click=say, args=(params, stays), width="content")


def say(params: Mapping[str, Sequence[str]], stays: Collection[str] = ()) -> None:
    """Have the address say this and nothing else; but what it says of the words that stay."""
    kept = {name: st.query_params.get_all(name) for name in stays if name in st.query_params}
    st.query_params.from_dict({**{name: list(values) for name, values in params.items()}, **kept})


def go_to(address: str, replaces: bool = False) -> None:
    """Lead the browser to an address of ours, such as 'run?run=a'; Back leads to this page as it is.

    replaces: Back passes this page over, which would only lead on again. The script goes on to its end first.
    """
    base = st.get_option("server.baseUrlPath").strip("/")
    module = {"assets": assets_url(f"/{base}" if base else ""), "module": "go_to.js"}
    with st.container(key="unseen-go-to"):  # takes no room: web/static/pitwall.css
        _goes(key=f"go-to-{address}", data={"address": address, "replaces": replaces} | module)


def choose_one(
    title: str,
    name: str,
    page: str,
    options: Mapping[str, str],
    default: str,
    width: int | Literal["stretch"],
    help_text: str | None = None,
) -> str:
    """A select box over `options` (value -> words) whose choice the address keeps."""
    kept = kept_one(name, f"{page}-{name}", list(options), default)
    begun = list(options).index(kept.take())
    words = options.__getitem__
    chosen = st.selectbox(title, list(options), begun, key=kept.key, format_func=words, width=width, help=help_text)
    return kept.keep(chosen)


def choose_segment(
    title: str, kept: Kept[str], options: Mapping[str, str], shows_title: bool = False, help_text: str | None = None
) -> str:
    """A row of buttons over `options` (value -> words) of which one is pressed; the address keeps which."""
    chosen = st.segmented_control(
        title,
        list(options),
        default=kept.take(),
        key=kept.key,
        format_func=options.__getitem__,
        required=True,
        help=help_text,
        label_visibility="visible" if shows_title else "collapsed",
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
    begun = kept.take()
    chosen = st.multiselect(
        title,
        list(options),
        begun,
        key=kept.key,
        format_func=options.__getitem__,
        placeholder=placeholder,
        width=width,  # type: ignore[arg-type]
    )
    return kept.keep(list(chosen))


def fold(title: str, name: str, page: str, icon: str | None = None, is_open: bool = False) -> ExpanderContainer:
    """A section that is folded away, or open at first; the address names those of a page that stand otherwise."""
    word = f"no-{name}" if is_open else name
    widget = Widget(f"{page}-fold-{name}-{title}")  # under another title it is another section to Streamlit
    folds = st.query_params.get_all(FOLD)
    begun = widget.begin((word in folds) != is_open)
    section = st.expander(title, begun, key=widget.key, icon=icon, on_change="rerun")
    if (section.open != is_open) != (word in folds):
        st.query_params[FOLD] = [one for one in folds if one != word] if word in folds else [*folds, word]
    widget.wrote(bool(section.open))
    return section
