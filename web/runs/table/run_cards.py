"""Runs as cards: live and queued ones on Runs, and any in the static first view of a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from analysis.metrics.registry import BY_KEY
from analysis.runs.printed_speed import printed_fallback
from analysis.runs.run_line import RunLine
from domain import Run, RunState
from reports.cache.run_cache import ReportCache
from reports.runs.run_line import line_version
from reports.runs.run_metrics import printed_meaning
from reports.runs.run_report import RunReport
from storage.caches.query_cache import QueryCache
from storage.queries import run_data
from storage.queries.run_queries import cached_lines
from storage.store import Store
from web import markup
from web.charts import ground
from web.context import services
from web.loop_words import loop_mark
from web.run_chips import chips_of
from web.run_colors import in_distinct_colors
from web.runs.queue_words import queued_texts
from web.theme import duration, run_color, three_digits
from web.words import lower_first, reason_text

RECENT_S = 120.0
NEWEST = 8  # runs in the first look at Runs
NO_RECENT_SPEED = "no decode speed in the last two minutes"
LATEST_SPEED = "decode, latest of two minutes"
LAST_SPEED = "decode, when last active"
LOG_SPEED = "log only (not ranked)"
QUEUED = "waiting in the queue"
_speeds_this_second = QueryCache(lambda: int(time.monotonic()))
_totals_this_second = QueryCache(lambda: int(time.monotonic()))
IDLE = "no decoding in the last two minutes"


def live_cards(runs: Sequence[Run]) -> str:
    """Return one card per run: state, current decode speed, and the last two minutes as a line."""
    started_ids = [run.id for run in runs if run.state is not RunState.QUEUED]
    recent = _recent_speed(services().store, started_ids) if started_ids else {}
    loops = _loop_marks(services().store, started_ids) if started_ids else {}
    chips, waits = chips_of(runs), queued_texts(runs)
    return _grid(
        _card(run, run.color, _muted(waits[run.id]), chips[run.id])
        if run.id in waits
        else _live_card(run, recent.get(run.id, ()), chips[run.id], loops[run.id])
        for run in runs
    )


def _recent_speed(store: Store, run_ids: Sequence[str]) -> Mapping[str, Sequence[float | None]]:
    """Query once a second for all viewers: planning the query costs more than a page."""
    return _speeds_this_second.get((store, *run_ids), lambda: run_data.recent_speed(store, run_ids, RECENT_S))


def first_cards(
    store: Store,
    run_ids: Sequence[str],
    reports: ReportCache,
    prepare: Callable[[Store, Sequence[Run]], object] | None = None,
) -> str:
    """Return a card per existing run, in order, with its latest speed, or for an ended run the speed on Compare.

    '' if none of the runs exists. prepare: computes what the page needs of ended runs together with their reports, so
    that their counters are read once.
    """
    runs_by_id = {run.id: run for run in store.runs_of(run_ids)}
    runs = [runs_by_id[run_id] for run_id in run_ids if run_id in runs_by_id]
    if not runs:
        return ""
    ended_runs = [run for run in runs if run.state.is_final]
    if prepare:
        prepare(store, ended_runs)
    ended = reports.get(store, ended_runs)
    lines = cached_lines(store, list(ended), line_version()) if ended else {}
    live_ids = [run.id for run in runs if run.id not in ended]
    recent = _recent_speed(store, live_ids) if live_ids else {}
    speeds = [
        _final_speed(ended[run.id], lines.get(run.id)) + loop_mark(ended[run.id].requests.looping_ratio)
        if run.id in ended
        else _current_speed(run, recent[run.id])
        for run in runs
    ]
    chips = chips_of(runs)
    labels = [chips[run.id] for run in runs]
    colors = [run.color for run in in_distinct_colors(runs)]
    return _grid(map(_card, runs, colors, speeds, labels))


def newest_cards(store: Store) -> str:
    """Return a card per newest run with the speed of its line in the list; '' if there is no run.

    It reads cached lines alone, once for all viewers until a run changes, so that it never delays the page.
    """
    return store.query_cache.get("newest cards", lambda: _newest_cards(store))


def _newest_cards(store: Store) -> str:
    runs = store.runs(limit=NEWEST)
    if not runs:
        return ""
    lines, chips = cached_lines(store, [run.id for run in runs], line_version()), chips_of(runs)
    return _grid(_card(run, run.color, _line_speed(lines.get(run.id)), chips[run.id]) for run in runs)


def _loop_marks(store: Store, run_ids: Sequence[str]) -> Mapping[str, str]:
    """Return run id -> the mark of its looping answers or '', queried once a second for all viewers."""
    totals = _totals_this_second.get((store, *run_ids), lambda: run_data.request_totals(store, run_ids))
    return {run_id: loop_mark(run_totals.looping_ratio) for run_id, run_totals in totals.items()}


def _live_card(run: Run, speeds: Sequence[float | None], chips: Sequence[str], loops: str) -> str:
    line = markup.sparkline(speeds, run_color(run.color, ground()))
    return _card(run, run.color, _current_speed(run, speeds) + loops, chips, line)


def _grid(cards: Iterable[str]) -> str:
    return f'<div class="pw-cards">{"".join(cards)}</div>'


def _current_speed(run: Run, speeds: Sequence[float | None]) -> str:
    if run.state is RunState.QUEUED:
        return _muted(QUEUED)
    if decoding := [speed for speed in speeds if speed]:
        return _big(decoding[-1], LAST_SPEED if speeds[-1] == 0 else LATEST_SPEED)
    text = IDLE if speeds and None not in speeds else NO_RECENT_SPEED
    return _muted(text)


def _muted(text: str) -> str:
    return f'<div class="pw-muted">{markup.text(text)}</div>'


def _final_speed(report: RunReport, line: RunLine | None) -> str:
    """The speed that the log prints, else that of one stream as in the run's line, else the mean decode speed."""
    summary = report.summary
    if printed := printed_fallback(summary, report.printed):
        return _big(printed.median_tps, markup.hint(LOG_SPEED, printed_meaning(printed.definition)), markup.unmeasured)
    if speed := _line_speed(line):
        return speed
    if summary.factors is None:
        return _muted(reason_text(summary.reason) or "")
    return _big(summary.factors.decode_tps, "mean while decoding")


def _line_speed(line: RunLine | None) -> str:
    """The stream speed in a run's line, '' if it has none."""
    if line is None or (stream_tps := line["stream_tps"]) is None:
        return ""
    return _big(stream_tps, markup.hint(lower_first(BY_KEY["stream_tps"].title), BY_KEY["stream_tps"].definition))


def _big(tok_s: float, label: str, wrap: Callable[[str], str] = str) -> str:
    """A large speed. label: markup that says which speed it is; wrap: adds the number's own styling."""
    number = wrap(markup.number(three_digits(tok_s), "tok/s"))
    return f'<div class="pw-big">{number} <small class="pw-muted">{label}</small></div>'


def _card(run: Run, color: int, speed: str, chips: Sequence[str], line: str = "") -> str:
    state = f"{run.shown_state}: {run.phase}" if run.phase else run.shown_state
    return (
        f'<a class="pw-card" style="--pw-run:{markup.run_css_color(color)}" target="_self" '
        f'href="{markup.run_link("live", [run.id])}">'
        f'<div><span class="pw-name">{markup.text(run.name)}</span> '
        f'<span class="pw-muted">{markup.text(state)} {_elapsed(run)}</span></div>'
        f"{speed}{line}<div>{markup.chips(chips)}</div></a>"
    )


def _elapsed(run: Run) -> str:
    since, until = run.ready_at or run.started_at, run.ended_at or datetime.now(UTC)
    return "" if since is None else duration((until - since).total_seconds())
