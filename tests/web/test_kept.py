"""What a page keeps in its address where the browser has not told a widget's value yet."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from web.kept import kept_one

    kept = kept_one("draw", "sql-draw", ["table", "line"], "table")
    kept.take()
    st.text(kept.keep(None))


def test_a_widget_that_tells_nothing_yet_leaves_the_address_as_it_is() -> None:
    app = AppTest.from_function(page).run()
    assert (app.text[0].value, dict(app.query_params)) == ("table", {})
    app.query_params["draw"] = "line"
    app.run()
    assert (app.text[0].value, dict(app.query_params)) == ("line", {"draw": "line"})
