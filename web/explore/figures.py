"""The charts of Explore of points, of lines over a field and of distributions, with the look of the still pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.marks import Mark
from storage.ask.explore_queries import STARTED
from web.charts import DRAWN_ON, is_phone, plain, styled
from web.explore.choices import DISTRIBUTION, LINE, Chosen
from web.explore.facets import by_size, lay_beside, on_chart, ordered, panels
from web.moments import moment, zone_name
from web.theme import EXCLUDED, RUN_COLORS, run_color, three_digits

HEIGHT_PX = 520
MOST_COLORS = len(RUN_COLORS["light"])
MOST_COUNTS = 12  # on an axis; of more Plotly sets whole numbers by itself
OTHERS = "others"
Where = Mapping[str, Any]  # the chart of a facet, as Plotly gets it


def figure_of(marks: Sequence[Mark], chosen: Chosen) -> go.Figure:
    """Points, a line or boxes for each colour, on a chart for each facet. Each point carries the ids of its runs."""
    figure = go.Figure()
    charts, _ = panels(marks)
    add = {DISTRIBUTION: _add_boxes, LINE: _add_line}.get(chosen.kind, _add_points)
    for place, (color, mine) in enumerate(_by_color([mark for _, some in charts for mark in some]).items()):
        shade = EXCLUDED[DRAWN_ON] if color == OTHERS else run_color(place, DRAWN_ON)
        own = [(number, facet, some) for number, (facet, _) in enumerate(charts) if (some := _of(mine, facet))]
        for number, facet, some in own:
            where = on_chart(number, facet, plain(color), number == own[0][0]) if chosen.view.facet else {}
            add(figure, some, plain(color), shade, where)
    laid_out(figure, chosen, legend=bool(chosen.view.color))
    if chosen.view.facet:
        if chosen.kind == DISTRIBUTION:
            figure.update_xaxes(categoryorder="array", categoryarray=_texts([*_by_place(marks).values()]))
        lay_beside(figure, [facet for facet, _ in charts])
    if chosen.kind != DISTRIBUTION and _are_few_counts([mark.x for mark in marks]):
        figure.update_xaxes(dtick=1)
    return figure


def _are_few_counts(values: Sequence[Any]) -> bool:
    """Whole numbers that lie close together, between which Plotly would set halves: nothing drafts 1.5 tokens."""
    are_whole = bool(values) and all(isinstance(one, int) and not isinstance(one, bool) for one in values)
    return are_whole and max(values) - min(values) <= MOST_COUNTS


def _of(marks: Sequence[Mark], facet: str) -> list[Mark]:
    return [mark for mark in marks if mark.facet == facet]


def _by_place(marks: Sequence[Mark]) -> dict[Any, Mark]:
    """One mark for each place on the horizontal axis, in its order: charts beside each other share it."""
    found = {mark.x: mark for mark in marks}
    return {x: found[x] for x in ordered(found)}


def _by_color(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    """The marks of each colour; where there are more colours than the eye tells apart, the rarest are 'others'."""
    counts = Counter(mark.color for mark in marks)
    most = {color for color, _ in counts.most_common(MOST_COLORS - (len(counts) > MOST_COLORS))}
    found: dict[str, list[Mark]] = {}
    for color in ordered(counts):
        for mark in (one for one in marks if one.color == color):
            found.setdefault(color if color in most else OTHERS, []).append(mark)
    return found


def _add_points(figure: go.Figure, marks: Sequence[Mark], name: str, color: str, where: Where) -> None:
    marker = {"color": color, "size": 10, "opacity": 0.85}
    figure.add_scatter(mode="markers", marker=marker, error_x=_bars(marks, "x"), **_common(marks, name), **where)


def _add_line(figure: go.Figure, marks: Sequence[Mark], name: str, color: str, where: Where) -> None:
    marks = sorted(marks, key=lambda mark: by_size(mark.x))
    style = {"line": {"color": color, "width": 2}, "marker": {"color": color, "size": 8}}
    figure.add_scatter(mode="lines+markers", **style, **_common(marks, name), **where)


def _add_boxes(figure: go.Figure, marks: Sequence[Mark], name: str, color: str, where: Where) -> None:
    figure.add_box(
        x=_texts(marks), y=[mark.y for mark in marks], name=name, boxpoints="all", jitter=0.5, pointpos=0,
        marker={"color": color, "size": 6}, line={"color": color}, customdata=[list(mark.run_ids) for mark in marks],
        hovertext=[_words(mark) for mark in marks], hoverinfo="text", **where,
    )  # fmt: skip


def _common(marks: Sequence[Mark], name: str) -> dict[str, Any]:
    return {
        "x": _texts(marks),
        "y": [mark.y for mark in marks],
        "name": name,
        "customdata": [list(mark.run_ids) for mark in marks],
        "hovertext": [_words(mark) for mark in marks],
        "hoverinfo": "text",
        "error_y": _bars(marks, "y"),
    }


def _texts(marks: Sequence[Mark]) -> list[Any]:
    return [plain(mark.x) if isinstance(mark.x, str) else mark.x for mark in marks]


def _bars(marks: Sequence[Mark], axis: str) -> dict[str, Any]:
    """The interval of each mark; none where there is none."""
    intervals = [(getattr(mark, f"{axis}_interval"), getattr(mark, axis)) for mark in marks]
    up = [interval[1] - at if interval else None for interval, at in intervals]
    down = [at - interval[0] if interval else None for interval, at in intervals]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.5}


def _words(mark: Mark) -> str:
    """What a point says when it is pointed at."""
    interval = mark.y_interval
    words = [three_digits(mark.y) + (f" ({' to '.join(map(three_digits, interval))})" if interval else "")]
    words += (
        []
        if isinstance(mark.x, str) and not mark.x
        else [f"at {mark.x if isinstance(mark.x, str) else _short(mark.x)}"]
    )
    return plain(f"{mark.name}: {' '.join(words)}" + (f", {starts_of(mark)}" if len(mark.run_ids) > 1 else ""))


def _short(value: Any) -> str:
    return three_digits(float(value)) if isinstance(value, int | float) else moment(value)


def starts_of(mark: Mark) -> str:
    """'3 starts', of servers."""
    return f"{mark.starts} start{'s' * (mark.starts != 1)}"


def laid_out(figure: go.Figure, chosen: Chosen, legend: bool) -> go.Figure:
    """What all kinds have: the size, the titles of their axes and of their colours."""
    titles: Mapping[str, str] = chosen.titles
    zone = f", {zone_name()}" if chosen.view.x == STARTED else ""
    axis: dict[str, Any] = {"title": {"text": plain(titles[chosen.view.x] + zone)}}
    if chosen.kind == DISTRIBUTION:
        axis["type"] = "category"
    styled(figure, axis, legend)
    figure.update_layout(height=HEIGHT_PX, yaxis={"title": {"text": plain(titles[chosen.view.y])}})
    names: dict[str, Any] = {"title": {"text": plain(titles.get(chosen.view.color, ""))}}
    if is_phone():
        names |= {"orientation": "h", "y": -0.2}  # below, for beside it there is no room for the chart
    figure.update_layout(boxmode="group", legend=names)
    return figure
