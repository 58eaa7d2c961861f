"""The cards of the runs that are live or queued."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from analysis.config_diff import chips
from domain import Run
from storage import queries
from web import markup
from web.charts import ground
from web.context import services
from web.facts import engine_title
from web.theme import duration, run_color, three_digits

SPARK_S = 120.0


def live_cards(runs: Sequence[Run]) -> str:
    """A card a run: how it stands, how fast it decodes now, and the last two minutes as a line."""
    recent = queries.recent_speed(services().store, [run.id for run in runs], SPARK_S)
    return f'<div class="pw-cards">{"".join(_card(run, recent[run.id]) for run in runs)}</div>'


def _card(run: Run, speeds: Sequence[float | None]) -> str:
    known = [speed for speed in speeds if speed is not None]
    big = markup.number(three_digits(known[-1] if known else None), "tok/s", "no decode speed seen yet")
    state = f"{run.state}: {run.phase}" if run.phase else str(run.state)
    words = markup.chips(chips(run.config.model_dump(), engine_title(run)))
    line = markup.sparkline(speeds, run_color(run.color, ground()))
    return (
        f'<a class="pw-card" style="--pw-run:{markup.run_css_color(run.color)}" target="_self" '
        f'href="{markup.run_link("live", [run.id])}">'
        f'<div><span class="pw-name">{markup.text(run.name)}</span> '
        f'<span class="pw-muted">{markup.text(state)} {_elapsed(run)}</span></div>'
        f'<div class="pw-big">{big}</div>{line}<div>{words}</div></a>'
    )


def _elapsed(run: Run) -> str:
    since = run.ready_at or run.started_at
    return "" if since is None else duration((datetime.now(UTC) - since).total_seconds())
