"""A report as Markdown for a pull request or forum post, with the usual tables of published results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from analysis.compare_arms import ArmComparison
from analysis.comparison.arm_names import weights_label
from analysis.comparison.arms import Arm
from analysis.comparison.replicates import ClassComparison
from analysis.guard import RowStatus
from analysis.metrics.definition import Section
from analysis.metrics.registry import MetricId
from analysis.note_changes import rating_labels
from commands.study_file import StudyPlan
from domain import Run
from notes import Gotcha, RunNote
from reports.arms.arm_metrics import metric_names
from reports.arms.collapsed_arms import collapsed_arms
from reports.arms.comparison import run_names
from reports.arms.report_data import ReportData
from reports.runs.run_metrics import NO_VALUE
from reports.runs.run_report import engine_title
from web.compare.answer.accuracy_table import ABOUT as ABOUT_ACCURACY
from web.compare.answer.accuracy_table import accuracy_cells, depth_lines
from web.compare.answer.fidelity_table import ABOUT as ABOUT_FIDELITY
from web.compare.answer.fidelity_table import HEAD as FIDELITY_HEAD
from web.compare.answer.fidelity_table import fidelity_cells, measured_fidelities, part_cells
from web.compare.answer.guard_findings import Finding, findings
from web.compare.answer.guard_words import STANDING_LABELS, TITLES
from web.compare.answer.overview import has_overview, overview_sentence
from web.compare.answer.part_table import ranked_part, ranked_whole
from web.compare.answer.report_notes import forced_notes, report_notes
from web.compare.answer.sentence import answer_sentence, detail, excluded_requests_text, factor_text
from web.compare.viewpoints.viewpoint_table import ABOUT as ABOUT_VIEWPOINTS
from web.compare.viewpoints.viewpoint_table import HEAD
from web.loop_words import loop_notes
from web.metric_words import metric_text, metric_unit
from web.publish.markdown_words import fenced, plain, table
from web.publish.published_text import DifferenceStyle, as_markdown
from web.report_export.note_markdown import quoted, safe_markdown
from web.report_export.sections import command_text, title, viewpoint_rows
from web.safe_markdown import is_web_link
from web.study_pages import race_words
from web.theme import DASH, duration, three_digits
from web.times import SECONDS, format_utc


def report_markdown(data: ReportData) -> str:
    """Return the whole text; names and log texts are escaped."""
    provenance = data.provenance
    by = f"Made by {provenance.by} with Pitwall {provenance.version} on {format_utc(provenance.at)}."
    blocks = [f"# {plain(title(data))}", *_study(data), *_answers(data), *_causes(data), *_people(data)]
    blocks += [*_configurations(data), *_viewpoints(data)]
    blocks += [
        *_published(data),
        *_accuracy(data),
        *_fidelity(data),
        *_numbers(data),
        *_prompt_kinds(data),
        *_rungs(data),
        *_guard(data),
        *_commands(data),
        *_runs(data),
        plain(by),
    ]
    return "\n\n".join(blocks) + "\n"


def _study(data: ReportData) -> list[str]:
    if data.study is None:
        return []
    answer, plan = data.study.answer or {}, StudyPlan.model_validate(data.study.plan)
    head = [
        f"**{plain(race_words.headline(data.study))}**",
        plain(race_words.describe_study(data.study, plan, len(data.runs))),
    ]
    tables: list[str] = []
    for part_title, arms in race_words.answer_tables(answer):
        rows = [[plain(cell) for cell in race_words.plain_row(arm)] for arm in arms]
        tables += [
            *([plain(part_title)] if part_title else []),
            *([table(race_words.headers(plan)[:-1], rows)] if rows else []),
        ]
    reasons = "\n".join(f"- {plain(reason)}" for reason in answer.get("reasons") or [])
    return [*head, *tables, *([reasons] if reasons else [])]


def _answers(data: ReportData) -> list[str]:
    report = data.comparison
    if not report.answers:
        return [plain(note) for note in forced_notes(report.arms)]
    names = run_names(report.arms)
    basis_line = f"Compared by {report.objective.title}: {report.objective.terms.meaning}."
    loops = loop_notes(report.arms, collapsed_arms(report.arms, data.reports))
    notes = [*(f"**{plain(note)}**" for note in loops), *(plain(note) for note in report_notes(report))]
    overview = [f"**{plain(overview_sentence(report.answers))}**"] if has_overview(report.answers) else []
    return [
        *overview,
        *(_answer(comparison, answer_sentence(comparison, names)) for comparison in report.answers),
        plain(basis_line),
        *notes,
    ]


def _answer(comparison: ArmComparison, claim: str) -> str:
    lines = [f"**{plain(claim)}**"]
    lines += [
        plain(line)
        for line in (detail(comparison), excluded_requests_text(comparison) if comparison.judgement else None)
        if line
    ]
    if comparison.is_ranked and comparison.factors:
        lines.append(plain(f"Factors: {'; '.join(map(factor_text, comparison.factors))}."))
    return "  \n".join(lines)


def _causes(data: ReportData) -> list[str]:
    return [f"{plain(run.name)} failed: {plain(run.cause)}" for run in data.runs if run.cause]


def _people(data: ReportData) -> list[str]:
    """People's Markdown, quoted; each gotcha once."""
    notes_by_run = [(run, data.people[run.id].note) for run in data.runs]
    blocks = [block for run, note in notes_by_run for block in _note(run, note)]
    gotchas = {gotcha.id: gotcha for run in data.runs for gotcha in data.people[run.id].gotchas}
    blocks += [block for gotcha in gotchas.values() for block in _gotcha(gotcha)]
    return ["## Notes", *blocks] if blocks else []


def _note(run: Run, note: RunNote) -> list[str]:
    verdict = [*rating_labels(note), *([f"“{note.impression}”"] if note.impression else [])]
    parts = [f"Tags: {', '.join(map(plain, note.tags))}"] if note.tags else []
    parts += [f"A person's verdict: {plain(' · '.join(verdict))}"] if verdict else []
    parts += [quoted(safe_markdown(note.text))] if note.text else []
    return [f"**{plain(run.name)}**", *parts] if parts else []


def _gotcha(gotcha: Gotcha) -> list[str]:
    conditions = " and ".join(
        [*(["this cause"] if gotcha.cause else []), *([plain(gotcha.flag)] if gotcha.flag else [])]
    )
    address = (gotcha.link or "").replace("<", "%3C").replace(">", "%3E")
    link = f" [more](<{address}>)" if is_web_link(address) else ""
    return [
        f"**Known issue: {plain(gotcha.failure)}** (saved for {conditions}){link}",
        quoted(safe_markdown(gotcha.workaround)),
    ]


def _configurations(data: ReportData) -> list[str]:
    """The usual table of published configurations."""
    if not data.comparison.arms:
        return []
    head = ["Config", "Runtime", "Weights", "KV cache", "KV pool", "Peak TG (p99)", "Typical TG", "Acceptance", "Notes"]
    return ["## Configurations", table(head, [_configuration(arm, data) for arm in data.comparison.arms])]


def _configuration(arm: Arm, data: ReportData) -> list[str]:
    run = next(run for run in data.runs if run.id == arm.id)
    served, metrics = arm.runs[0].served, data.arm_metrics[arm.id]
    settings = served.settings

    def value_of(metric: MetricId) -> float | None:
        return metrics.get(metric, NO_VALUE).value

    rate, length = value_of(MetricId("acceptance_rate")), value_of(MetricId("acceptance_length"))
    accepted = [f"{100 * rate:.1f} %"] if rate is not None else []
    accepted += [f"length {length:.2f}"] if length is not None else []
    formats = settings.get("quantization") or settings.get("dtype") or run.config.quantization
    memory = f"{served.weights_gib:.1f} GiB" if served.weights_gib is not None else None
    weights = ", ".join(filter(None, [weights_label(served), formats, memory])) or DASH
    pool = value_of(MetricId("kv_cache_tokens"))
    cells = [arm.name, f"{engine_title(run)} {served.engine_version or ''}", weights]
    cells += [settings.get("kv_cache_dtype") or DASH, f"{pool:,.0f} tok" if pool else DASH]
    cells += [_speed(value_of(MetricId("peak_tps", 1))), _middle_half(arm, data)]
    return [plain(cell) for cell in [*cells, ", ".join(accepted) or DASH, ", ".join(_notes(arm))]]


def _middle_half(arm: Arm, data: ReportData) -> str:
    """The typical speed of one request alone as '68.1-75.0 tok/s': medians of the ends of its middle half."""
    alone = [report.summary.alone for report in data.reports if report.run.id in {run.run_id for run in arm.runs}]
    low, high = (_known_median(getattr(speeds, f"typical_{end}_tps") for speeds in alone) for end in ("low", "high"))
    return DASH if low is None or high is None else f"{three_digits(low)}-{three_digits(high)} tok/s"


def _notes(arm: Arm) -> list[str]:
    """'262,144 ctx, mtp x4, 3 starts'."""
    settings = arm.runs[0].served.settings
    context, method = settings.get("max_model_len"), settings.get("speculative.method")
    parts = [f"{context:,} ctx"] if isinstance(context, int) else []
    parts += [f"{method} x{settings.get('speculative.num_tokens')}"] if method else []
    return [*parts, "1 start" if len(arm.starts) == 1 else f"{len(arm.starts)} starts"]


def _viewpoints(data: ReportData) -> list[str]:
    rows = [[plain(cell) for cell in line[: len(HEAD)]] for line in viewpoint_rows(data)]
    return ["## Best by viewpoint", table(HEAD, rows), plain(ABOUT_VIEWPOINTS)] if rows else []


def _accuracy(data: ReportData) -> list[str]:
    arms = data.comparison.arms
    rows = [[plain(cell) for cell in cells] for cells in accuracy_cells(arms, data.accuracies)]
    if not rows or len(arms) < 2:
        return []
    depths = [plain(line) for line in depth_lines(arms, data.depths)]
    return ["## Accuracy", table(["", *(plain(arm.name) for arm in arms)], rows), *depths, plain(ABOUT_ACCURACY)]


def _fidelity(data: ReportData) -> list[str]:
    measured = measured_fidelities(data.comparison.answers)
    if not measured:
        return []
    rows = [[plain(cell) for cell in cells] for cells in fidelity_cells(measured)]
    part_rows = [[plain(cell) for cell in cells] for cells in part_cells(measured)]
    part_head = ["Depth or kind", *(plain(arm.arm_name) for arm in measured)]
    return ["## Same answers?", table(FIDELITY_HEAD, rows), table(part_head, part_rows), plain(ABOUT_FIDELITY)]


def _published(data: ReportData) -> list[str]:
    text = as_markdown(data.published_tables, DifferenceStyle.PERCENT)
    return ["## Results", text.strip()] if text else []


def _numbers(data: ReportData) -> list[str]:
    """One table per section, one column per arm; unknown metrics are left out."""
    arms, metrics = data.comparison.arms, data.arm_metrics
    blocks = []
    for section in Section:
        rows = []
        for metric in metric_names(metrics):
            values = [metrics[arm.id].get(metric, NO_VALUE).value for arm in arms]
            if metric.definition.section is section and any(value is not None for value in values):
                unit = f" ({metric_unit(metric)})" if metric_unit(metric) else ""
                rows.append([plain(metric.title + unit), *(metric_text(metric, value) for value in values)])
        if rows:
            blocks += [f"## {section.value}", table(["Metric", *(plain(arm.name) for arm in arms)], rows, numeric=True)]
    return blocks


def _prompt_kinds(data: ReportData) -> list[str]:
    answers = data.comparison.answers
    names = list(dict.fromkeys(part.ratio.name for comparison in answers for part in comparison.classes))
    rows = [[plain(name), *_cells([ranked_part(comparison, name) for comparison in answers])] for name in names]
    return _breakdown("By kind of prompt", "Kind of prompt", data, rows) if len(names) > 1 else []


def _rungs(data: ReportData) -> list[str]:
    rows = [
        [f"{rung[0].pair.objective.concurrency} at once", *_cells([ranked_whole(comparison) for comparison in rung])]
        for rung in data.rungs
    ]
    return _breakdown("By concurrency", "Output tok/s", data, rows) if len(rows) > 1 else []


def _breakdown(heading: str, corner: str, data: ReportData, rows: Sequence[Sequence[str]]) -> list[str]:
    if not any(comparison.is_ranked for comparison in data.comparison.answers):
        return []
    return [f"## {heading}", table([corner, *(plain(arm.name) for arm in data.comparison.arms)], rows, numeric=True)]


def _cells(parts: Sequence[ClassComparison | None]) -> list[str]:
    baseline_value = next((part.ratio.values[0] for part in parts if part), None)
    return [_speed(baseline_value), *(_part(part) for part in parts)]


def _part(part: ClassComparison | None) -> str:
    if part is None:
        return DASH
    ratio = part.ratio
    interval = f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})" if ratio.interval else ""
    return f"{_speed(ratio.values[1])}, {ratio.ratio:.2f}×{interval}"


def _guard(data: ReportData) -> list[str]:
    answers = data.comparison.answers
    rows = findings(answers, run_names(data.comparison.arms))
    rows_shown = [
        [TITLES[finding.code], STANDING_LABELS[finding.standing], _found_text(finding, answers)]
        for finding in rows
        if finding.standing is not RowStatus.SAME
    ]
    return (
        [
            "## Is this a fair comparison?",
            table(["", "", "found"], [[plain(cell) for cell in row] for row in rows_shown]),
        ]
        if rows_shown
        else []
    )


def _found_text(row: Finding, answers: Sequence[ArmComparison]) -> str:
    """The findings, with the names of the arms unless they apply to all."""
    arms = {answer.pair.contender.id: answer.pair.contender.name for answer in answers}
    return "; ".join(
        detail.text
        if len(detail.arm_ids) == len(arms)
        else f"{', '.join(arms[i] for i in detail.arm_ids)}: {detail.text}"
        for detail in row.details
    )


def _commands(data: ReportData) -> list[str]:
    first_ids = {arm.id for arm in data.comparison.arms} or {run.id for run in data.runs}
    runs_shown = [run for run in data.runs if run.id in first_ids and run.config.argv]
    blocks = [part for run in runs_shown for part in (plain(run.name), fenced(command_text(run)))]
    return ["## Commands", *blocks] if blocks else []


def _runs(data: ReportData) -> list[str]:
    return ["## Runs", table(["Run", "Id", "State", "Started", "Lasted"], [_run(run) for run in data.runs])]


def _run(run: Run) -> list[str]:
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    cells = [run.name, run.id, run.shown_state, format_utc(run.began_at, SECONDS)]
    return [plain(cell) for cell in [*cells, duration(lasted)]]


def _known_median(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values else None


def _speed(value: float | None) -> str:
    return DASH if value is None else f"{three_digits(value)} tok/s"
