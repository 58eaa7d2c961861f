"""Runs that Explore shows: its filters, their words, and the URL that stores them."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.web.explore.explore_page import figure, page, page_text, points

pytestmark = pytest.mark.usefixtures("store")


def test_address_restores_view_and_skips_unknown() -> None:
    at = page(draw="line", y="peak", x="nonsense", engine="nobody", tag="x")
    assert at.selectbox(key="explore-y").value == "peak" and at.selectbox(key="explore-x").value == "k"


def test_filter_fold_counts_and_opens_when_in_use() -> None:
    at = page()
    assert in_use(at) == ("", False)
    at = page(find="bold", engine=["vllm", "nobody"], started="nonsense", state="nobody")
    assert in_use(at) == ("2 in use", True)
    at.text_input(key="explore-find").set_value("").run()
    assert in_use(at) == ("1 in use", True), "told at once"
    at.multiselect(key="explore-engine").set_value([]).run()
    assert in_use(at) == ("", True), "who has taken it out may choose another"


def in_use(at: AppTest) -> tuple[str, bool]:
    fold = next(expander for expander in at.expander if expander.label == "Which runs")
    return next(
        (caption.value for caption in at.caption if re.fullmatch(r"\d+ in use", caption.value)), ""
    ), fold.proto.expanded


def run_with_popover(at: AppTest) -> None:
    at.session_state["explore-more-filters"] = True  # which a browser sends with each rerun
    at.run()


def test_other_field_filter_appears_on_request() -> None:
    at = page()
    run_with_popover(at)
    assert {"explore-k", "explore-quantization"} <= {box.key for box in at.multiselect}, "the usual ones are"
    assert "explore-memory_share" not in {box.key for box in at.multiselect}
    choice = at.selectbox(key="explore-field")
    assert (choice.label, choice.options) == ("Another field", ["choose one", "Share of GPU memory", "Prefix caching"])
    choice.set_value("memory_share")
    run_with_popover(at)
    at.multiselect(key="explore-memory_share").set_value(["0.85"])
    run_with_popover(at)
    assert at.query_params["memory_share"] in ("0.85", ["0.85"]) and "6 of 6 runs are drawn" in page_text(at)
    at.selectbox(key="explore-field").set_value("prefix_caching")
    run_with_popover(at)
    assert "explore-prefix_caching" in {box.key for box in at.multiselect}
    box = at.multiselect(key="explore-memory_share")
    assert box.value == ["0.85"], "it is in use, so it stays"
    box.set_value([])
    run_with_popover(at)
    assert "memory_share" not in at.query_params and "20 runs are drawn" in page_text(at)
    run_with_popover(at)
    assert "explore-memory_share" not in {box.key for box in at.multiselect}, "no longer in use"


def test_address_restores_other_field_filter() -> None:
    at = page(prefix_caching="off", memory_share=["0.9", "nonsense"], color="prefix_caching", x="memory_share")
    assert "explore-prefix_caching" not in {box.key for box in at.multiselect}, (
        "what a closed popover holds costs nothing"
    )
    run_with_popover(at)
    assert at.multiselect(key="explore-prefix_caching").value == ["off"]
    assert at.multiselect(key="explore-memory_share").value == ["0.9"]
    assert in_use(at) == ("2 in use", True) and points(at) == {"off": 6}
    assert set(figure(at)["data"][0]["x"]) == {0.9}


def test_a_view_of_nothing_says_so() -> None:
    assert "No runs match." in page_text(page(find="no such run"))
    assert "none of these runs has both numbers" in page_text(page(y="weights"))


def test_nul_in_the_address_is_dropped() -> None:
    assert "20 runs are drawn" in page_text(page(find="\0"))
