"""URL parameters that a press has set, and reruns that begin with the URL from before it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from web.url_presses import change_url_params, restore_url_press

    restore_url_press()
    st.text(" ".join(f"{name}={','.join(st.query_params.get_all(name))}" for name in st.query_params))
    st.button("Sort", on_click=change_url_params, args=({"order": ["speed"], "find": []},))


def pressed(before: dict[str, str]) -> AppTest:
    """The page after its button was pressed on this URL."""
    app = AppTest.from_function(page, default_timeout=60)
    app.query_params.update(before)
    app.run()
    return app.button[0].click().run()


def rerun_with(app: AppTest, params: dict[str, str]) -> str:
    """What the page shows when it is rerun with this URL."""
    app.query_params.clear()
    app.query_params.update(params)
    return app.run().text[0].value


def test_a_rerun_with_the_url_from_before_a_press_shows_the_press() -> None:
    app = pressed({"group": "arm", "find": "a"})
    assert app.text[0].value == "group=arm order=speed"
    for _ in range(2):
        assert rerun_with(app, {"group": "arm", "find": "a"}) == "group=arm order=speed"
        assert dict(app.query_params) == {"group": "arm", "order": "speed"}


def test_once_the_browser_has_the_new_url_the_old_one_is_meant() -> None:
    app = pressed({"group": "arm"})
    assert rerun_with(app, {"group": "arm", "order": "speed"}) == "group=arm order=speed"
    assert rerun_with(app, {"group": "arm"}) == "group=arm"


def test_another_url_is_followed() -> None:
    app = pressed({"group": "arm"})
    assert rerun_with(app, {"group": "model"}) == "group=model"
    assert rerun_with(app, {"group": "arm"}) == "group=arm"


def test_some_seconds_after_a_press_the_old_url_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    app = pressed({})
    monkeypatch.setattr("web.url_presses.PRESS_LASTS_S", 0.0)
    assert rerun_with(app, {}) == ""


@pytest.mark.parametrize("path", ["/live", None])
def test_a_press_is_none_of_another_page(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    monkeypatch.setattr("web.url_presses.current_path", lambda: "/runs")
    app = pressed({})
    monkeypatch.setattr("web.url_presses.current_path", lambda: path)
    assert rerun_with(app, {}) == ""
