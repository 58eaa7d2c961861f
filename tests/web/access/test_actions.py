"""Buttons whose act the launcher refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from launcher.runs.run_factory import SILENT_STORE, SilentStoreError
from web.actions import refusal_as_toast
from web.markup import markdown_text


def page(act: Callable[[], None]) -> AppTest:
    def script(act) -> None:  # type: ignore[no-untyped-def]  # its source is run alone
        import streamlit as st

        from web.actions import refusal_as_toast

        def press() -> None:
            with refusal_as_toast():
                act()

        st.button("Cancel", on_click=press)

    return AppTest.from_function(script, args=(act,), default_timeout=60).run()


def test_silent_store_breaks_no_page() -> None:
    def cancel() -> None:
        raise SilentStoreError(SILENT_STORE)

    at = page(cancel).button[0].click().run()
    assert not at.exception
    assert [toast.value for toast in at.toast] == [markdown_text(SILENT_STORE)]


def test_another_fault_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), refusal_as_toast():
        raise ZeroDivisionError
