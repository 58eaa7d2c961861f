"""A run's numbers as tiles, and the table of the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.metrics.registry import BY_KEY, MetricId
from analysis.runs.printed_speed import PrintedSpeed, printed_fallback
from reports.runs.evidence import Evidence
from reports.runs.run_metrics import MetricValue, RunMetrics, printed_meaning
from reports.runs.run_report import RunReport
from web import markup
from web.compare.sources.source_line import IN_NO_INTERVAL, silence_cell, standing_cell
from web.loop_words import loop_mark
from web.metric_words import meaning_of, metric_text, metric_unit
from web.theme import DASH, duration, three_digits
from web.words import reason_text, window_text

LOG_SPEED = BY_KEY["printed_tps"].title
NO_REQUESTS = "no request by Pitwall finished"
ACTIVE = "Windows of pure decoding, of all windows; only these are ranked"
NOT_IN_IMPORTED_LOGS = ("steps_per_s", "ttft_ms", "stream_tps", "startup_s")  # an imported log never has these
TILES = (
    "stream_tps",
    "output_tps",
    "mean_decode_tps",
    "tokens_per_step",
    "steps_per_s",
    "typical_tps",
    "peak_tps",
    "floor_tps",
    "acceptance_length",
    "acceptance_rate",
    "prompt_tps",
    "ttft_ms",
    "startup_s",
)
STREAM_SPEEDS = ("stream_tps", "mean_decode_tps", "typical_tps")  # the first known one leads
SHOWN_ABOVE_ONE = 1.005  # tokens per step that are not shown as 1.00
ONCE = ("typical_tps", "peak_tps", "floor_tps", "prompt_tps", "ttft_ms")  # at the lowest concurrency


def evidence_table(reports: Sequence[RunReport], evidence: Sequence[Evidence], machines: Mapping[str, str]) -> str:
    """Return a table of each run's evidence: machine, windows, requests, agreement of log and counters."""
    head = ["", *(markup.colored_name(report.run.name, report.run.color) for report in reports)]
    body = [["Machine", *(_machine(machines.get(report.run.machine_id)) for report in reports)]]
    body.append([markup.hint("Active windows", ACTIVE), *(_windows(report) for report in reports)])
    body.append(["Requests", *(request_counts(report) for report in reports)])
    if any(run_evidence.silence for run_evidence in evidence):
        body.append(
            [markup.hint("In no interval", IN_NO_INTERVAL), *(silence_cell(run_evidence) for run_evidence in evidence)]
        )
    body.append(["Log and counters", *(standing_cell(run_evidence) for run_evidence in evidence)])
    return markup.table(head, body)


def _machine(title: str | None) -> str:
    return markup.text(title) if title else markup.number(DASH, why="an imported file does not name its machine")


def number_tiles(report: RunReport, metrics: RunMetrics) -> str:
    """Return the known numbers as tiles, and one line with the unknown ones and their reasons.

    Of a file in which Pitwall knows none, such as another tool's results, the line would only list them all.
    """
    values = {metric: metrics[metric] for metric in tile_metrics(metrics)}
    cells = {
        metric: (markup.hint(metric.title, meaning_of(metric)), _cell(metric, value, report))
        for metric, value in values.items()
        if value.value is not None
    }
    lead = lead_metrics(metrics)
    tiles = [cell for metric, cell in cells.items() if metric not in lead]
    if printed := printed_fallback(report.summary, report.printed):
        tiles.append((LOG_SPEED, markup.unmeasured(markup.number(three_digits(printed.median_tps), "tok/s"))))
    if report.requests.sent_requests:
        tiles.append(("Requests", request_counts(report)))
    if report.summary.definition:
        tiles.append((markup.hint("Active windows", ACTIVE), _windows(report)))
    omitted = NOT_IN_IMPORTED_LOGS if report.run.kind == "imported" else ()
    missing = [
        (metric.title, reason_text(value.reason))
        for metric, value in values.items()
        if value.value is None and metric.key not in omitted
    ]
    if report.run.kind == "imported" and not cells and not tiles:
        return ""
    loops = loop_mark(report.requests.looping_ratio)
    lead_tiles = markup.tiles([cells[metric] for metric in lead], is_lead=True) if lead else ""
    marked_tiles = (f"<p>{loops}</p>" if loops else "") + lead_tiles + (markup.tiles(tiles) if tiles else "")
    return marked_tiles + _printed_words(printed) + markup.unknown_numbers(missing)


def tile_metrics(metrics: RunMetrics) -> list[MetricId]:
    """Return the metrics that are tiles: a latency and the prefill speed at the lowest concurrency only."""
    metric_ids: list[MetricId] = []
    for metric in metrics:
        is_further = any(tile.key == metric.key for tile in metric_ids)
        if metric.key in TILES and not (is_further and metric.key in ONCE):
            metric_ids.append(metric)
    return sorted(metric_ids, key=lambda metric: (TILES.index(metric.key), metric.concurrency or 0))


def lead_metrics(metrics: RunMetrics) -> list[MetricId]:
    """Return the up to three metrics that tell a run at a glance.

    They are the speed of one stream, the output at the most requests at once, and the tokens per step of a run that
    accepted drafts, else its time to first token.
    """
    known_metrics = [metric for metric in tile_metrics(metrics) if metrics[metric].value is not None]
    streams = [metric for key in STREAM_SPEEDS for metric in known_metrics if metric.key == key]
    outputs = sorted(
        (m for m in known_metrics if m.key == "output_tps"), key=lambda m: m.concurrency or 0, reverse=True
    )
    drafted = [m for m in known_metrics if m.key == "tokens_per_step" and (metrics[m].value or 0.0) >= SHOWN_ABOVE_ONE]
    first_tokens = [metric for metric in known_metrics if metric.key == "ttft_ms"]
    return [*streams[:1], *outputs[:1], *[*drafted, *first_tokens][:1]]


def all_numbers_table(metrics: RunMetrics) -> str:
    """Return a table of every metric of one run: its value or the reason why it is unknown, and its definition."""
    rows = [
        [
            markup.text(metric.title),
            markup.number(metric_text(metric, value.value), metric_unit(metric))
            if value.value is not None
            else f'<span class="pw-muted">{markup.text(reason_text(value.reason) or "not known")}</span>',
            markup.text(meaning_of(metric)),
        ]
        for metric, value in metrics.items()
    ]
    return markup.table(["Number", "Value", "Definition"], rows, wraps=True)


def _printed_words(printed: PrintedSpeed | None) -> str:
    """The meaning of the speed that the log prints; '' if none is shown."""
    if printed is None:
        return ""
    lines = f"{printed.lines:,} line{'s' * (printed.lines != 1)} ({printed.definition})"
    meaning = printed_meaning(printed.definition)
    return f'<p class="pw-unknown">{LOG_SPEED}: {markup.text(meaning)}; {markup.text(lines)}.</p>'


def _cell(metric: MetricId, value: MetricValue, report: RunReport) -> str:
    number = markup.number(metric_text(metric, value.value), metric_unit(metric))
    if metric.key == "startup_s":
        return markup.number(duration(value.value))
    alone = report.summary.alone
    is_typical = metric.key == "typical_tps"
    middle_half = f"({three_digits(alone.typical_low_tps)} to {three_digits(alone.typical_high_tps)})"
    return f"{number} <small>{middle_half}</small>" if is_typical else number


def _windows(report: RunReport) -> str:
    summary = report.summary
    if summary.definition is None:
        return markup.number(DASH, why=reason_text(summary.reason))
    counts = f"{summary.active_windows} of {summary.active_windows + summary.excluded_windows}"
    return markup.number(counts, f"of {window_text(summary.window_s)}")


def request_counts(report: RunReport) -> str:
    """'8, none failed'."""
    total, failed = report.requests.sent_requests, report.requests.failed
    return markup.number(str(total), f"{failed or 'none'} failed") if total else markup.number(DASH, why=NO_REQUESTS)
