"""Explore's first colours are of what the drawn points differ in most."""

from __future__ import annotations

import pytest

from storage.queries.explore_queries import METRICS, View, drawn_value_counts, explore_sql, matching_ids, read_view
from storage.queries.run_fields import FIELDS
from storage.queries.run_queries import RunFilter
from storage.store import Store
from tests.web.explore.explore_page import figure, page, points
from web.explore.controls import most_varied_field
from web.theme import HUE_COUNT


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"quantization": 2, "kv": 3}, "kv"),
        ({"quantization": 2, "engine": 3}, "engine"),
        ({"model": HUE_COUNT + 1, "kv": 2}, "kv"),
        ({"k": 3, "quantization": 2}, "quantization"),
        ({"quantization": 1}, None),
    ],
    ids=["most values", "engines too", "no more than there are hues", "not the X axis again", "none differ"],
)
def test_first_colour(counts: dict[str, int], expected: str | None) -> None:
    assert most_varied_field(counts, x="k") == expected


@pytest.mark.parametrize("by_ids", [True, False])
@pytest.mark.parametrize("view", [View("stream", "k"), View("stream", "kv_tokens"), View("stream", "started")])
def test_values_are_counted_among_the_drawn_points(store: Store, view: View, by_ids: bool) -> None:
    run_ids = matching_ids(store, RunFilter()) if by_ids else None
    counts = drawn_value_counts(store, RunFilter(), view, METRICS, run_ids)
    drawn = {}
    for name in FIELDS:
        rows = read_view(store, explore_sql(RunFilter(), View(view.y, view.x, name), METRICS))
        drawn[name] = len({row["color"] for row in rows if row["x"] is not None and row["y"] is not None})
    assert counts == drawn and max(counts.values()) > 1


@pytest.mark.usefixtures("store")
def test_a_field_that_the_drawn_points_share_does_not_colour_them() -> None:
    assert set(points(page(x="kv_tokens"))) == {"0", "1", "2", "4"}, "by their draft lengths"
    assert points(page(x="kv_tokens", k="0")) == {"fp8": 3, "not stated": 3}
    (trace,) = figure(page(x="kv_tokens", k="0", quantization="fp8"))["data"]
    assert len(trace["customdata"]) == 3 and not trace["name"]
