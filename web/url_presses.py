"""URL parameters that a press has set, restored when the page is rerun with the URL from before the press.

Streamlit may run a press's callback in the rerun of a fragment whose timer fires at the same moment, or run the press
and another rerun of the page in two threads. Either way the browser's next request still carries the URL from before
the press, and the page would show that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

PRESS_LASTS_S = 60.0  # on a busy machine the rerun may come late; later still the same URL is that of a link
_PRESS = "url-press"  # session state: the last one
Params = dict[str, list[str]]


@dataclass(frozen=True)
class UrlPress:
    """The URL's parameters before and after a press.

    path: of the page, None if unknown. pressed_s: time.monotonic(). is_shown: a run of the page has begun with `after`.
    """

    path: str | None
    before: Params
    after: Params
    pressed_s: float
    is_shown: bool = False


def set_url_params(params: Mapping[str, Sequence[str]]) -> None:
    """Replace the parameters of the URL; to be called from a callback."""
    before, after = url_params(), {name: list(values) for name, values in params.items() if values}
    st.session_state[_PRESS] = UrlPress(current_path(), before, after, time.monotonic())
    st.query_params.from_dict(after)


def change_url_params(changes: Mapping[str, Sequence[str]]) -> None:
    """Replace some parameters of the URL, or remove those without values; to be called from a callback."""
    set_url_params(url_params() | {name: list(values) for name, values in changes.items()})


def restore_url_press() -> None:
    """Restore the parameters of the last press if this run began without them; to be called before the page reads any.

    After `Back`, on another page or a minute later, a URL from before the press is meant as such.
    """
    press: UrlPress | None = st.session_state.get(_PRESS)
    if press is None:
        return
    params, context = url_params(), get_script_run_ctx()
    is_over = time.monotonic() - press.pressed_s > PRESS_LASTS_S or press.path != current_path()
    is_stale = params == press.before and not is_over and not (context and context.is_history_navigation)
    if is_stale:
        st.query_params.from_dict(press.after)
    if is_stale or (params == press.after and not press.is_shown):
        st.session_state[_PRESS] = replace(press, is_shown=True)
    else:
        del st.session_state[_PRESS]


def current_path() -> str | None:
    """The path of the page in the browser; None if Streamlit does not know it."""
    url = st.context.url
    return urlsplit(url).path if url else None


def url_params() -> Params:
    """Return the parameters of the URL, each with its values in order."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
