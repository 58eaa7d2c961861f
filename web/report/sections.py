"""The sections of a report's page; each is markup, or '' where there is nothing to show."""

from __future__ import annotations

from functools import cache, partial

from commands.study_file import StudyPlan
from commands.write import shell_text
from domain import Run
from redaction import mask_text
from reports.arms.comparison import named, ranked_by
from reports.arms.report_data import ReportData
from web import markup
from web.compare.answer.answer_cards import Colors, answer_cards
from web.compare.answer.guard_card import guard_card
from web.compare.answer.metric_table import Shown, metric_sections
from web.compare.answer.part_table import class_table, rung_table
from web.compare.answer.report_notes import report_notes
from web.compare.arms.config_table import config_table
from web.compare.comparison import evidence_table, number_tiles
from web.compare.sheet import as_its_arm
from web.compare.sources.source_line import source_line
from web.compare.viewpoints.viewpoint_table import Line, viewpoint_lines, viewpoint_table
from web.moments import SECONDS, utc_moment
from web.report.courses import courses, frontiers
from web.runs.page.physics_panel import panel_html
from web.runs.page.timeline import timeline_table
from web.runs.remarks.gotcha_panel import gotcha_html
from web.runs.remarks.people_panel import said
from web.study_pages import race_words
from web.theme import duration

MOST_NAMED = 4


def title(data: ReportData) -> str:
    """'A against B', or the name of the one run."""
    if data.study:
        return data.study.title
    names = [arm.name for arm in data.comparison.arms] or [run.name for run in data.runs]
    named_ones = names[:MOST_NAMED] + ([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])
    return " against ".join(named_ones)


def head(data: ReportData, words: str) -> str:
    """Its title, and by whom, when and from how many runs it was made."""
    made = data.made
    count = f"{len(data.runs)} runs" if len(data.runs) > 1 else f"run {data.runs[0].id}" if data.runs else "no run"
    made_by = f"A report of Pitwall {made.version}, made by {made.by} on {utc_moment(made.at)} from {count}."
    return f'<header><h1>{markup.text(words)}</h1><p class="rp-made">{markup.text(made_by)}</p></header>'


def study(data: ReportData, colors: Colors) -> str:
    """The study's answer, what it asked and cost, its arms and the reasons; '' where it is of runs alone."""
    if data.study is None:
        return ""
    answer, plan = data.study.answer or {}, StudyPlan.model_validate(data.study.plan)
    reasons = "".join(f"<li>{markup.text(reason)}</li>" for reason in answer.get("reasons") or [])
    table = "".join(
        f"<p>{markup.text(words)}</p>{markup.stacked_table(race_words.headers(plan), race_words.rows(plan, arms))}"
        for words, arms in race_words.parts(answer)
        if arms
    )
    return (
        f'<p class="pw-lead"><b>{markup.text(race_words.head(data.study))}</b></p>'
        f'<p class="pw-muted">{markup.text(race_words.about(data.study, plan, len(data.runs)))}</p>{table}'
        f'<ul class="pw-muted">{reasons}</ul>'
    )


def answer(data: ReportData, colors: Colors) -> str:
    """The answers and the guard, as Compare shows them."""
    report = data.comparison
    if not report.answers:
        return ""
    names = named(report.arms)
    notes = "".join(f'<p class="pw-muted">{markup.text(note)}</p>' for note in report_notes(report))
    by = markup.text(f"Compared by {report.objective.title}: {report.objective.terms.meaning}.")
    cards, trust = answer_cards(report.answers, names, colors), guard_card(report.answers, names, colors)
    lent = f'<p class="pw-muted">{len(report.earlier)} earlier runs lent their spread.</p>' if report.earlier else ""
    return f'<p class="pw-muted">{by}</p>{notes}<div class="pw-sheet"><div>{cards}</div>{trust}</div>{lent}'


def parts(data: ReportData, colors: Colors) -> str:
    """Each kind of prompt and each concurrency for itself; '' where no answer may be ranked."""
    report = data.comparison
    if not any(one.is_ranked for one in report.answers):
        return ""
    return class_table(report.arms, report.answers, colors) + rung_table(report.arms, data.rungs, colors)


def viewpoints(data: ReportData, colors: Colors) -> str:
    """The best by each viewpoint, as Compare shows it."""
    return viewpoint_table(lines_of(data)) if data.rankings else ""


def against(data: ReportData, colors: Colors) -> str:
    """A place that the script draws in, and the choice of what is drawn."""
    found = frontiers(data, colors)
    options = "".join(f'<option value="{n}">{markup.text(one["title"])}</option>' for n, one in enumerate(found))
    note = (
        "A point an arm, by the mean of its starts, with 95 % intervals. The line is the frontier of those that may be "
        "ranked; hollow points may not, or were watched or imported."
    )
    place = f'<figure class="rp-frontier"><select aria-label="What is drawn">{options}</select></figure>'
    return f'{place}<p class="pw-muted">{note}</p>' if found else ""


def lines_of(data: ReportData) -> list[Line]:
    """The viewpoints in words."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    return viewpoint_lines(data.rankings, arms)


def causes(data: ReportData, colors: Colors) -> str:
    """Why runs failed, and what else Pitwall notes of how they went."""
    return "".join(_cause(run, colors) for run in data.runs if run.cause or run.note)


def _cause(run: Run, colors: Colors) -> str:
    said = [f"<p>{markup.text(run.cause)}</p>" if run.cause else ""]
    said += [f"<pre>{markup.text(run.cause_line)}</pre>" if run.cause_line and run.cause_line != run.cause else ""]
    said += [f"<p>{markup.text(run.note)}</p>" if run.note else ""]
    return f"<p>{markup.named(run.name, colors.get(run.id, run.color))}</p>{''.join(said)}"


def people(data: ReportData, colors: Colors) -> str:
    """Notes, verdicts, tags, and gotchas once, whatever number of runs they are about."""
    texts = {run.id: said(data.people[run.id].note, utc_moment) for run in data.runs}
    notes = [
        f"<p>{markup.named(run.name, colors.get(run.id, run.color))}</p>{texts[run.id]}"
        for run in data.runs
        if texts[run.id]
    ]
    found = {one.id: gotcha_html(one, utc_moment) for run in data.runs for one in data.people[run.id].gotchas}
    return "".join([*notes, *found.values()])


def tiles(data: ReportData, colors: Colors) -> str:
    """The tiles of a single run; several runs stand beside each other in the table of all numbers."""
    if len(data.reports) != 1:
        return ""
    (one,) = data.reports
    return number_tiles(one, data.facts[one.run.id]) + source_line(data.evidence[0])


def numbers(data: ReportData, colors: Colors) -> str:
    """All numbers of the arms beside each other, by section; '' without arms."""
    report = data.comparison
    ranked = cache(partial(ranked_by, report))
    return metric_sections(Shown(report.arms, ranked, colors, report.margin), data.metrics) if report.arms else ""


def differing(data: ReportData, colors: Colors) -> str:
    """The settings in which the arms differ; '' for one arm."""
    return config_table(data.comparison.arms, colors) if len(data.comparison.arms) > 1 else ""


def evidence(data: ReportData, colors: Colors) -> str:
    """What each run's numbers rest on; '' for one run."""
    if len(data.reports) < 2:
        return ""
    return evidence_table(
        [as_its_arm(one, data.comparison, colors) for one in data.reports], data.evidence, data.machines
    )


def physics(data: ReportData, colors: Colors) -> str:
    """The physics of a single run, or of the first run of each arm, folded."""
    if len(data.reports) == 1:
        return panel_html(data.physics[data.reports[0].run.id])
    return "".join(
        f"<details><summary>{markup.named(arm.name, colors[arm.id])}</summary>"
        f"{panel_html(data.physics[arm.id])}</details>"
        for arm in data.comparison.arms
    )


def charts(data: ReportData, colors: Colors) -> str:
    """Places that the script draws in, one for each course, in the same order."""
    drawn = courses(data, colors)
    if not drawn:
        return ""
    buttons = "".join(
        f'<button type="button" data-line="{place}" aria-pressed="true">'
        f"{markup.named(one.run.name, colors.get(one.run.id, one.run.color))}</button>"
        for place, one in enumerate(data.reports)
    )
    places = "".join(
        f'<figure class="rp-chart"><figcaption>{markup.text(one["title"])}</figcaption></figure>' for one in drawn
    )
    note = "grey: idle, mixed or warm-up, not ranked; drag to zoom, double-click to see all"
    legend = f'<div class="rp-legend">{buttons}<span class="pw-muted">{note}</span></div>'
    return f'{legend}<div class="rp-charts">{places}</div>'


def timeline(data: ReportData, colors: Colors) -> str:
    """What happened to the one run, by its time since the start; '' for several."""
    return timeline_table(data.runs[0], data.events[data.runs[0].id], utc_moment) if len(data.runs) == 1 else ""


def commands(data: ReportData, colors: Colors) -> str:
    """The command of the first run of each arm; of a run that was not compared, its own."""
    first = {arm.id for arm in data.comparison.arms} or {run.id for run in data.runs}
    shown = [run for run in data.runs if run.id in first and run.config.argv]
    return "".join(
        f"<p>{markup.named(run.name, colors.get(run.id, run.color))}</p><pre>{markup.text(command_text(run))}</pre>"
        for run in shown
    )


def command_text(run: Run) -> str:
    """Its command as a shell takes it; a secret is masked by the flag before it, too."""
    return mask_text(shell_text(list(run.config.argv)))


def runs(data: ReportData, colors: Colors) -> str:
    """From which runs the report is made."""
    rows = [_run(run, colors, data.asking.left_out.get(run.id)) for run in data.runs]
    return markup.table(["Run", "Id", "Kind", "State", "Started", "Lasted", "Workload"], rows, wraps=True)


def _run(run: Run, colors: Colors, left_out: str | None) -> list[str]:
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    state = f"{run.state.value}, left out: {left_out}" if left_out else run.state.value
    cells = [run.id, run.kind, state, utc_moment(run.started_at or run.created_at, SECONDS), duration(lasted)]
    cells.append(run.workload_names or "none")
    return [markup.named(run.name, colors.get(run.id, run.color)), *map(markup.text, cells)]
