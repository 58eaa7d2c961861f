"""The row of sections at the end of a page: what is open, what the URL says, and what a closed section costs."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

PAGE = """
import streamlit as st
from web.sections import PageSection, show_sections

def draw(name):
    st.session_state.setdefault("drawn", []).append(name)
    st.text(f"content of {name}")

count = st.session_state.get("count", 1)
sections = [
    PageSection("machines", "Machines", lambda: draw("machines")),
    None,
    PageSection("deleted", f"Deleted runs: {count}", lambda: draw("deleted")),
]
st.session_state.open = show_sections("runs", sections[: st.session_state.get("most", 3)])
"""


def opened(fold: list[str] | None = None) -> AppTest:
    at = AppTest.from_string(PAGE, default_timeout=60)
    if fold:
        at.query_params["fold"] = fold
    at.run()
    assert not at.exception
    return at


def texts(at: AppTest) -> list[str]:
    assert not at.exception
    return [text.value for text in at.text]


def test_closed_sections_are_one_row_and_draw_nothing() -> None:
    at = opened()
    assert at.button_group[0].options == ["Machines", "Deleted runs: 1"]
    assert texts(at) == [] and "drawn" not in at.session_state and at.session_state.open == []


def test_a_press_opens_a_section_and_another_closes_it() -> None:
    at = opened()
    at.button_group[0].set_value(["deleted", "machines"]).run()
    assert texts(at) == ["content of machines", "content of deleted"]  # in the order of the row
    assert [title.value for title in at.subheader] == ["Machines", "Deleted runs: 1"]
    assert sorted(at.query_params["fold"]) == ["deleted", "machines"]
    at.button_group[0].set_value(["machines"]).run()
    assert texts(at) == ["content of machines"] and at.query_params["fold"] in ("machines", ["machines"])
    at.button_group[0].set_value([]).run()
    assert texts(at) == [] and "fold" not in at.query_params


def test_the_url_opens_sections_and_unknown_names_open_none() -> None:
    at = opened(["deleted", "long-gone"])
    assert texts(at) == ["content of deleted"] and at.session_state.open == ["deleted"]


def test_a_section_stays_open_when_its_title_changes() -> None:
    at = opened()
    at.button_group[0].set_value(["deleted"]).run()
    at.session_state.count = 2
    at.run()
    assert texts(at) == ["content of deleted"] and at.subheader[0].value == "Deleted runs: 2"
    assert at.query_params["fold"] in ("deleted", ["deleted"])


def test_a_section_that_disappears_closes_alone() -> None:
    at = opened(["machines", "deleted"])
    at.session_state.most = 2
    at.run()
    assert texts(at) == ["content of machines"]
    at.session_state.most = 0
    at.run()
    assert texts(at) == [] and not at.button_group
