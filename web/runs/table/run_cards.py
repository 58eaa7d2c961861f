"""Runs as cards: those that are live or queued, and any in the first look at a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from analysis.comparison.config_diff import as_started, chips
from analysis.runs.printed import in_place_of
from domain import Run, RunState
from reports.runs.ended import EndedReports
from reports.runs.run_metrics import printed_meaning
from reports.runs.run_report import RunReport, engine_title
from storage.ask import queries
from storage.lists.answers import SharedAnswers
from storage.store import Store
from web import markup
from web.charts import ground
from web.context import services
from web.theme import colors_apart, duration, run_color, three_digits
from web.words import why

RECENT_S = 120.0
NOT_SEEN = "no decode speed in the last two minutes"
LATEST = "decode, the latest of two minutes"
LAST = "decode, when it last did"
BY_LOG = "by its log, not ranked"
WAITS = "waits for its turn"
_of_this_second = SharedAnswers(lambda: int(time.monotonic()))
NOTHING = "nothing decoded in the last two minutes"


def live_cards(runs: Sequence[Run]) -> str:
    """A card a run: how it stands, how fast it decodes now, and the last two minutes as a line."""
    begun = [run.id for run in runs if run.state is not RunState.QUEUED]
    recent = _recent_speed(services().store, begun) if begun else {}
    return _grid(_live_card(run, recent.get(run.id, ())) for run in runs)


def _recent_speed(store: Store, run_ids: Sequence[str]) -> Mapping[str, Sequence[float | None]]:
    """Asked once a second for all who look: to plan the question costs more than a page."""
    return _of_this_second.of((store, *run_ids), lambda: queries.recent_speed(store, run_ids, RECENT_S))


def first_cards(store: Store, run_ids: Sequence[str], reports: EndedReports) -> str:
    """A card for each of these runs that exists, in their order: its latest speed, of an ended one what Compare says.

    Nothing where none exists.
    """
    known = {run.id: run for run in store.runs_of(run_ids)}
    runs = [known[run_id] for run_id in run_ids if run_id in known]
    if not runs:
        return ""
    ended = reports.of(store, [run for run in runs if run.state.is_final])
    recent = _recent_speed(store, [run.id for run in runs if run.id not in ended])
    speeds = [_speed_of(ended[run.id]) if run.id in ended else _speed_now(run, recent[run.id]) for run in runs]
    return _grid(map(_card, runs, colors_apart([run.color for run in runs]), speeds))


def _live_card(run: Run, speeds: Sequence[float | None]) -> str:
    line = markup.sparkline(speeds, run_color(run.color, ground()))
    return _card(run, run.color, _speed_now(run, speeds), line)


def _grid(cards: Iterable[str]) -> str:
    return f'<div class="pw-cards">{"".join(cards)}</div>'


def _speed_now(run: Run, speeds: Sequence[float | None]) -> str:
    if run.state is RunState.QUEUED:
        return f'<div class="pw-muted">{WAITS}</div>'
    if decoding := [speed for speed in speeds if speed]:
        return _big(decoding[-1], LAST if speeds[-1] == 0 else LATEST)
    said = NOTHING if speeds and None not in speeds else NOT_SEEN
    return f'<div class="pw-muted">{said}</div>'


def _speed_of(report: RunReport) -> str:
    said = report.summary
    if printed := in_place_of(said, report.printed):
        return _big(printed.median_tps, markup.hint(BY_LOG, printed_meaning(printed)), markup.set_apart)
    if said.factors is None:
        return f'<div class="pw-muted">{markup.text(why(said.reason))}</div>'
    return _big(said.factors.decode_tps, "mean while decoding")


def _big(tok_s: float, what: str, dressed: Callable[[str], str] = str) -> str:
    """`what` is markup that says which speed it is; `dressed` makes the number look like one of its kind."""
    number = dressed(markup.number(three_digits(tok_s), "tok/s"))
    return f'<div class="pw-big">{number} <small class="pw-muted">{what}</small></div>'


def _card(run: Run, color: int, speed: str, line: str = "") -> str:
    state = f"{run.state}: {run.phase}" if run.phase else str(run.state)
    words = markup.chips(chips(as_started(run.config.model_dump(), run.told), engine_title(run)))
    return (
        f'<a class="pw-card" style="--pw-run:{markup.run_css_color(color)}" target="_self" '
        f'href="{markup.run_link("live", [run.id])}">'
        f'<div><span class="pw-name">{markup.text(run.name)}</span> '
        f'<span class="pw-muted">{markup.text(state)} {_elapsed(run)}</span></div>'
        f"{speed}{line}<div>{words}</div></a>"
    )


def _elapsed(run: Run) -> str:
    since, until = run.ready_at or run.started_at, run.ended_at or datetime.now(UTC)
    return "" if since is None else duration((until - since).total_seconds())
