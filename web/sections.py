"""The sections at the end of a page: one button each in a row, and below it the sections whose buttons are pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import streamlit as st

from web.url_state import FOLD, multiple_choice


@dataclass(frozen=True)
class PageSection:
    """A section that is closed at first. name: its value in the URL. show: draws its content, only while it is open."""

    name: str
    title: str
    show: Callable[[], object]


def show_sections(page: str, sections: Iterable[PageSection | None]) -> list[str]:
    """Show the row and the open sections, which the URL names; return the names of those. None: not for this viewer.

    The row is a single widget and message of Streamlit's, which costs less than an expander per section.
    """
    by_name = {section.name: section for section in sections if section is not None}
    if not by_name:
        return []
    choice = multiple_choice(FOLD, f"{page}-sections", list(by_name))
    pressed = st.pills(
        "More on this page",
        list(by_name),
        selection_mode="multi",
        default=choice.initial_value(),
        format_func=lambda name: by_name[name].title,
        key=choice.key,
        label_visibility="collapsed",
    )
    open_names = choice.save(list(pressed))
    for name, section in by_name.items():
        if name in open_names:
            with st.container(border=True, key=f"section-{name}"):
                st.subheader(section.title, anchor=False)
                section.show()
    return open_names
