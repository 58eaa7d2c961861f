"""State in a page's URL while the browser has not sent a widget's value yet."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from web.url_state import single_choice

    kept_single_choice = single_choice("draw", "sql-draw", ["table", "line"], "table")
    kept_single_choice.initial_value()
    st.text(kept_single_choice.save(None))


def test_silent_widget_keeps_the_address() -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert (app.text[0].value, dict(app.query_params)) == ("table", {})
    app.query_params["draw"] = "line"
    app.run()
    assert (app.text[0].value, dict(app.query_params)) == ("line", {"draw": "line"})


def picks() -> None:
    import streamlit as st

    from web.url_state import choose_some

    some = choose_some("Letters", "letter", "letters", {"a": "A", "b": "B", "c": "C"}, "all")
    st.text(" ".join(some))


def test_late_message_of_previous_view_is_ignored() -> None:
    app = AppTest.from_function(picks, default_timeout=60)
    app.query_params["letter"] = ["a"]
    app.run()
    before = app.multiselect[0]
    app.query_params["letter"] = ["b"]  # as the browser's Back does
    app.run()
    after = app.multiselect[0]
    assert (after.value, dict(app.query_params)) == (["b"], {"letter": "b"})
    assert after.id != before.id, "a page not drawn anew yet sends the value of before under the id of before"
    after.set_value(["b", "c"]).run()
    assert (app.text[0].value, dict(app.query_params)) == ("b c", {"letter": ["b", "c"]})
    assert app.multiselect[0].id == after.id, "what it wrote itself lets a widget be"


def test_hidden_widget_returns_with_address_value() -> None:
    app = AppTest.from_function(sometimes, default_timeout=60)
    app.query_params["word"] = "one"
    app.run()
    app.text_input[0].set_value("two").run()
    app.session_state["hidden"] = True
    app.run()
    app.session_state["hidden"] = False
    app.run()
    assert (app.text_input[0].value, app.query_params["word"]) == ("two", "two")


def sometimes() -> None:
    import streamlit as st

    from web.url_state import text_choice

    if st.session_state.get("hidden"):
        return
    kept_text_choice = text_choice("word", "words")
    kept_text_choice.save(st.text_input("Word", kept_text_choice.initial_value(), key=kept_text_choice.key))


def offered() -> None:
    import streamlit as st

    from web.url_state import choose_one, choose_some

    letters = {letter: letter.upper() for letter in st.session_state.get("letters", "abc")}
    st.text(" ".join(choose_some("Letters", "letter", "letters", letters, "all")))
    st.text(choose_one("One", "one", "letters", letters, "a", 100))


def test_vanished_option_breaks_no_widget() -> None:
    """A tag, a version: the last run that had it may be deleted while a filter of it is in the address, or was."""
    app = AppTest.from_function(offered, default_timeout=60)
    app.query_params["letter"], app.query_params["one"] = ["b"], "b"
    app.run()
    app.multiselect[0].set_value(["c"]).run()
    app.selectbox[0].set_value("c").run()
    for letters, texts in (("ac", ["c", "c"]), ("ab", ["", "a"])):
        app.session_state["letters"] = letters
        app.run()
        assert not app.exception and [text.value for text in app.text] == texts


def sections() -> None:
    import streamlit as st

    from web.url_state import url_expander

    url_expander("Loads", "loads", "run", is_open=True)
    url_expander(st.session_state.get("title", "Others"), "others", "run")


def test_address_names_changed_sections() -> None:
    app = AppTest.from_function(sections, default_timeout=60).run()
    assert (opened(app), dict(app.query_params)) == ([True, False], {})
    app.query_params["fold"] = ["no-loads", "others"]
    app.run()
    assert (opened(app), app.query_params["fold"]) == ([False, True], ["no-loads", "others"])


def test_a_section_stays_open_under_another_title() -> None:
    """As that of the deleted runs, which counts them."""
    app = AppTest.from_function(sections, default_timeout=60).run()
    app.session_state["run-fold-others-Others"] = True  # as a press does
    app.run()
    assert (opened(app), dict(app.query_params)) == ([True, True], {"fold": "others"})
    app.session_state["title"] = "Others: 2"
    app.run()
    assert (opened(app), dict(app.query_params)) == ([True, True], {"fold": "others"})


def opened(app: AppTest) -> list[bool]:
    return [expander.proto.expanded for expander in app.expander]
