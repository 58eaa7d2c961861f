"""The sections of a report page; each returns markup, or '' if there is nothing to show."""

from __future__ import annotations

from functools import cache, partial

from commands.study_file import StudyPlan
from commands.write import shell_text
from domain import Run
from redaction import mask_text
from reports.arms.collapsed_arms import collapsed_arms
from reports.arms.comparison import rankable_arms, run_names
from reports.arms.report_data import ReportData
from web import markup
from web.compare.answer.accuracy_table import ABOUT as ABOUT_ACCURACY
from web.compare.answer.accuracy_table import accuracy_table, depth_lines
from web.compare.answer.agreement_chart import agreement_chart
from web.compare.answer.answer_cards import answer_cards
from web.compare.answer.dots import page_span
from web.compare.answer.fidelity_table import ABOUT as ABOUT_FIDELITY
from web.compare.answer.fidelity_table import fidelity_table, measured_fidelities
from web.compare.answer.guard_card import guard_card
from web.compare.answer.metric_table import TableColumns, metric_sections
from web.compare.answer.overview import Colors
from web.compare.answer.part_table import class_table, rung_table
from web.compare.answer.report_notes import forced_notes, report_notes
from web.compare.arms.config_table import config_table
from web.compare.run_tiles import evidence_table, number_tiles
from web.compare.sheet import in_arm_color
from web.compare.sources.source_line import source_line
from web.compare.viewpoints.viewpoint_table import ABOUT as ABOUT_VIEWPOINTS
from web.compare.viewpoints.viewpoint_table import ViewpointLine, viewpoint_lines, viewpoint_table
from web.loads.depth_words import ABOUT_DEPTHS
from web.loop_words import loop_notes
from web.publish.published_text import DifferenceStyle, as_html
from web.report_export.agreement_drawing import agreement_drawing
from web.report_export.chart_series import frontier_charts, time_charts
from web.run_notes.gotcha_panel import gotcha_html
from web.run_notes.people_panel import note_html
from web.runs.page.physics_panel import panel_html
from web.runs.page.timeline import timeline_table
from web.study_pages import race_words
from web.theme import duration
from web.times import SECONDS, format_utc

MAX_NAMED = 4


def title(data: ReportData) -> str:
    """'A against B', or the name of the one run."""
    if data.study:
        return data.study.title
    names = [arm.name for arm in data.comparison.arms] or [run.name for run in data.runs]
    shown_names = names[:MAX_NAMED] + ([f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else [])
    return " against ".join(shown_names)


def head(data: ReportData, page_title: str) -> str:
    """The title, and by whom, when and from how many runs the report was made."""
    count = f"{len(data.runs)} runs" if len(data.runs) > 1 else f"run {data.runs[0].id}" if data.runs else "no run"
    version, author, made_at = data.provenance.version, data.provenance.by, format_utc(data.provenance.at)
    made_line = f"A report by Pitwall {version}, made by {author} on {made_at} from {count}."
    return f'<header><h1>{markup.text(page_title)}</h1><p class="rp-made">{markup.text(made_line)}</p></header>'


def study(data: ReportData, colors: Colors) -> str:
    """The study's answer, question, cost, arms and reasons; '' for a report of runs."""
    if data.study is None:
        return ""
    answer, plan = data.study.answer or {}, StudyPlan.model_validate(data.study.plan)
    reasons = "".join(f"<li>{markup.text(reason)}</li>" for reason in answer.get("reasons") or [])
    table_head = race_words.headers(plan)
    table = "".join(
        f"<p>{markup.text(part_title)}</p>{markup.stacked_table(table_head, race_words.table_rows(plan, arms))}"
        for part_title, arms in race_words.answer_tables(answer)
        if arms
    )
    return (
        f'<p class="pw-lead"><b>{markup.text(race_words.headline(data.study))}</b></p>'
        f'<p class="pw-muted">{markup.text(race_words.describe_study(data.study, plan, len(data.runs)))}</p>{table}'
        f'<ul class="pw-muted">{reasons}</ul>'
    )


def answers(data: ReportData, colors: Colors) -> str:
    """The answers and the guard, as Compare shows them."""
    report = data.comparison
    if not report.answers:
        return "".join(f"<p>{markup.text(note)}</p>" for note in forced_notes(report.arms))
    names = run_names(report.arms)
    notes = "".join(f'<p class="pw-muted">{markup.text(note)}</p>' for note in report_notes(report))
    loops = loop_notes(report.arms, collapsed_arms(report.arms, data.reports))
    notes += "".join(f'<p class="pw-doubt">{markup.text(note)}</p>' for note in loops)
    basis = markup.text(f"Compared by {report.objective.title}: {report.objective.terms.meaning}.")
    cards = answer_cards(report.answers, names, colors, page_span(report.answers, data.rungs))
    guard = guard_card(report.answers, names, colors)
    spread_note = (
        f'<p class="pw-muted">The spread between starts is taken from {len(report.earlier)} earlier runs.</p>'
        if report.earlier
        else ""
    )
    return f'<p class="pw-muted">{basis}</p>{notes}<div class="pw-sheet"><div>{cards}</div>{guard}</div>{spread_note}'


def parts(data: ReportData, colors: Colors) -> str:
    """The answers by kind of prompt and by concurrency; '' if no answer is ranked."""
    report = data.comparison
    if not any(comparison.is_ranked for comparison in report.answers):
        return ""
    span = page_span(report.answers, data.rungs)
    return class_table(report.arms, report.answers, colors, span) + rung_table(report.arms, data.rungs, colors, span)


def viewpoints(data: ReportData, colors: Colors) -> str:
    """The rankings by viewpoint, as Compare shows them."""
    about = f'<p class="pw-muted">{markup.text(ABOUT_VIEWPOINTS)}</p>'
    return f"{viewpoint_table(viewpoint_rows(data))}{about}" if data.rankings else ""


def against(data: ReportData, colors: Colors) -> str:
    """The placeholder of the frontier chart, and the choice of its axes, which the report's script fills."""
    charts = frontier_charts(data, colors)
    note = (
        "One point per arm: the mean of its starts, with 95 % intervals. The line is the frontier of the ranked arms; "
        "hollow points are not ranked, or were watched or imported."
    )
    choice = '<label>Draw <select name="y"></select></label> <label>against <select name="x"></select></label>'
    figure = f'<figure class="rp-frontier"><div class="rp-axes">{choice}</div></figure>'
    return f'{figure}<p class="pw-muted">{note}</p>' if charts else ""


def viewpoint_rows(data: ReportData) -> list[ViewpointLine]:
    """Return the rows of the viewpoint table."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    return viewpoint_lines(data.rankings, arms)


def causes(data: ReportData, colors: Colors) -> str:
    """Causes of failures, and Pitwall's own notes on runs."""
    return "".join(_cause(run, colors) for run in data.runs if run.cause or run.note)


def _cause(run: Run, colors: Colors) -> str:
    parts = [f"<p>{markup.text(run.cause)}</p>" if run.cause else ""]
    parts += [f"<pre>{markup.text(run.cause_line)}</pre>" if run.cause_line and run.cause_line != run.cause else ""]
    parts += [f"<p>{markup.text(run.note)}</p>" if run.note else ""]
    return f"<p>{markup.colored_name(run.name, colors.get(run.id, run.color))}</p>{''.join(parts)}"


def people(data: ReportData, colors: Colors) -> str:
    """Notes, verdicts and tags; each gotcha once."""
    notes_html = {run.id: note_html(data.people[run.id].note, format_utc) for run in data.runs}
    sections = [
        f"<p>{markup.colored_name(run.name, colors.get(run.id, run.color))}</p>{notes_html[run.id]}"
        for run in data.runs
        if notes_html[run.id]
    ]
    gotchas = {
        gotcha.id: gotcha_html(gotcha, format_utc) for run in data.runs for gotcha in data.people[run.id].gotchas
    }
    return "".join([*sections, *gotchas.values()])


def tiles(data: ReportData, colors: Colors) -> str:
    """The tiles of a single run; the numbers of several runs are in the table of all numbers."""
    if len(data.reports) != 1:
        return ""
    (report,) = data.reports
    return number_tiles(report, data.metrics[report.run.id]) + source_line(data.evidence[0])


def published(data: ReportData, colors: Colors) -> str:
    """The tables for publication: values, and differences from the baseline."""
    return as_html(data.published_tables, DifferenceStyle.PERCENT)


def accuracy(data: ReportData, colors: Colors) -> str:
    """The accuracies by task with their differences from the first arm, as Compare shows them; '' for one arm."""
    table = accuracy_table(data.comparison.arms, data.accuracies, colors) if len(data.comparison.arms) > 1 else ""
    depths = "".join(f"<p>{markup.text(line)}</p>" for line in depth_lines(data.comparison.arms, data.depths))
    about = f"{ABOUT_ACCURACY} {ABOUT_DEPTHS}" if depths else ABOUT_ACCURACY
    return f'{table}{depths}<p class="pw-muted">{markup.text(about)}</p>' if table else ""


def fidelity(data: ReportData, colors: Colors) -> str:
    """The answers of the arms against the first arm's, as Compare shows them; '' if none was measured."""
    measured = measured_fidelities(data.comparison.answers)
    table, chart = fidelity_table(measured, colors), agreement_chart(measured)
    drawing = agreement_drawing(chart, colors) if chart else ""
    return f'{table}{drawing}<p class="pw-muted">{markup.text(ABOUT_FIDELITY)}</p>' if table else ""


def numbers(data: ReportData, colors: Colors) -> str:
    """All numbers of the arms side by side, by section; '' without arms."""
    report = data.comparison
    ranked_arms = cache(partial(rankable_arms, report))
    return (
        metric_sections(TableColumns(report.arms, ranked_arms, colors, report.margin), data.arm_metrics)
        if report.arms
        else ""
    )


def differing(data: ReportData, colors: Colors) -> str:
    """The settings in which the arms differ; '' for one arm."""
    return config_table(data.comparison.arms, colors) if len(data.comparison.arms) > 1 else ""


def evidence(data: ReportData, colors: Colors) -> str:
    """The evidence for each run's numbers; '' for one run."""
    if len(data.reports) < 2:
        return ""
    return evidence_table(
        [in_arm_color(report, data.comparison, colors) for report in data.reports], data.evidence, data.machines
    )


def physics(data: ReportData, colors: Colors) -> str:
    """The physics of a single run, or of the first run of each arm, folded."""
    if len(data.reports) == 1:
        return panel_html(data.physics[data.reports[0].run.id])
    return "".join(
        f"<details><summary>{markup.colored_name(arm.name, colors[arm.id])}</summary>"
        f"{panel_html(data.physics[arm.id])}</details>"
        for arm in data.comparison.arms
    )


def charts(data: ReportData, colors: Colors) -> str:
    """Placeholders of the charts over time, in the order of `time_charts`."""
    chart_list = time_charts(data, colors)
    if not chart_list:
        return ""
    buttons = "".join(
        f'<button type="button" data-line="{index}" aria-pressed="true">'
        f"{markup.colored_name(report.run.name, colors.get(report.run.id, report.run.color))}</button>"
        for index, report in enumerate(data.reports)
    )
    figures = "".join(
        f'<figure class="rp-chart"><figcaption>{markup.text(chart["title"])}</figcaption></figure>'
        for chart in chart_list
    )
    note = "grey: idle, mixed or warm-up, not ranked; drag to zoom, double-click to see all"
    legend = f'<div class="rp-legend">{buttons}<span class="pw-muted">{note}</span></div>'
    return f'{legend}<div class="rp-charts">{figures}</div>'


def timeline(data: ReportData, colors: Colors) -> str:
    """The events of a single run by time since its start; '' for several."""
    return timeline_table(data.runs[0], data.events[data.runs[0].id], format_utc) if len(data.runs) == 1 else ""


def commands(data: ReportData, colors: Colors) -> str:
    """The command of the first run of each arm, or of each run if none are compared."""
    first_ids = {arm.id for arm in data.comparison.arms} or {run.id for run in data.runs}
    runs_shown = [run for run in data.runs if run.id in first_ids and run.config.argv]
    return "".join(
        f"<p>{markup.colored_name(run.name, colors.get(run.id, run.color))}</p>"
        f"<pre>{markup.text(command_text(run))}</pre>"
        for run in runs_shown
    )


def command_text(run: Run) -> str:
    """Return the command for a shell; secrets are masked, also by the flag before them."""
    return mask_text(shell_text(list(run.config.argv)))


def runs(data: ReportData, colors: Colors) -> str:
    """The table of the report's runs."""
    rows = [_run(run, colors, data.options.left_out.get(run.id)) for run in data.runs]
    return markup.table(["Run", "Id", "Kind", "State", "Started", "Lasted", "Workload"], rows, wraps=True)


def _run(run: Run, colors: Colors, left_out: str | None) -> list[str]:
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    state = f"{run.shown_state}, left out: {left_out}" if left_out else run.shown_state
    cells = [run.id, run.kind, state, format_utc(run.began_at, SECONDS), duration(lasted)]
    cells.append(run.workload_names or "none")
    return [markup.colored_name(run.name, colors.get(run.id, run.color)), *map(markup.text, cells)]
