"""A report as Markdown for a pull request or a forum post, in the tables in which people publish such results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from analysis.comparison.arms import Arm
from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import Part
from analysis.guard import Standing
from analysis.note_changes import rated
from commands.study_file import StudyPlan
from domain import Run
from notes import Gotcha, RunNote
from reports.arms.comparison import named
from reports.arms.report_data import ReportData
from reports.runs.run_metrics import Section
from reports.runs.run_report import RunReport, engine_title
from web.compare.answer.guard_findings import Finding, findings
from web.compare.answer.guard_words import STANDINGS, TITLES
from web.compare.answer.metric_table import digits_of, value_of_arm
from web.compare.answer.part_table import ranked_part, ranked_whole
from web.compare.answer.report_notes import report_notes
from web.compare.answer.sentence import detail, factor_words, left_out_words, sentence
from web.compare.viewpoints.viewpoint_table import HEAD
from web.moments import SECONDS, utc_moment
from web.report.markdown_words import fenced, plain, table
from web.report.note_markdown import quoted, safe_markdown
from web.report.sections import command_text, lines_of, title
from web.safe_markdown import is_web_link
from web.study_pages import race_words
from web.theme import DASH, duration, three_digits


def report_markdown(data: ReportData) -> str:
    """The whole text; nothing that a name or a log says is markup in it."""
    made = data.made
    by = f"Made by {made.by} with Pitwall {made.version} on {utc_moment(made.at)}."
    blocks = [f"# {plain(title(data))}", *_study(data), *_answers(data), *_causes(data), *_people(data)]
    blocks += [*_configurations(data), *_viewpoints(data)]
    blocks += [*_numbers(data), *_kinds(data), *_rungs(data), *_guard(data), *_commands(data), *_runs(data), plain(by)]
    return "\n\n".join(blocks) + "\n"


def _study(data: ReportData) -> list[str]:
    if data.study is None:
        return []
    answer, plan = data.study.answer or {}, StudyPlan.model_validate(data.study.plan)
    head = [f"**{plain(race_words.head(data.study))}**", plain(race_words.about(data.study, plan, len(data.runs)))]
    tables: list[str] = []
    for words, arms in race_words.parts(answer):
        rows = [[plain(cell) for cell in race_words.plain_row(one)] for one in arms]
        tables += [*([plain(words)] if words else []), *([table(race_words.headers(plan)[:5], rows)] if rows else [])]
    reasons = "\n".join(f"- {plain(reason)}" for reason in answer.get("reasons") or [])
    return [*head, *tables, *([reasons] if reasons else [])]


def _answers(data: ReportData) -> list[str]:
    report = data.comparison
    if not report.answers:
        return []
    names = named(report.arms)
    by = f"Compared by {report.objective.title}: {report.objective.terms.meaning}."
    notes = [plain(note) for note in report_notes(report)]
    return [*(_answer(one, sentence(one, names)) for one in report.answers), plain(by), *notes]


def _answer(one: Comparison, said: str) -> str:
    lines = [f"**{plain(said)}**"]
    lines += [plain(words) for words in (detail(one), left_out_words(one) if one.judgement else None) if words]
    if one.is_ranked and one.factors:
        lines.append(plain(f"Factors: {'; '.join(factor_words(factor, one.margin) for factor in one.factors)}."))
    return "  \n".join(lines)


def _causes(data: ReportData) -> list[str]:
    return [f"{plain(run.name)} failed: {plain(run.cause)}" for run in data.runs if run.cause]


def _people(data: ReportData) -> list[str]:
    """Their Markdown as Markdown, quoted; gotchas once, whatever number of runs they are about."""
    notes = [(run, data.people[run.id].note) for run in data.runs]
    blocks = [part for run, note in notes for part in _note(run, note)]
    found = {one.id: one for run in data.runs for one in data.people[run.id].gotchas}
    blocks += [part for one in found.values() for part in _gotcha(one)]
    return ["## What people say", *blocks] if blocks else []


def _note(run: Run, note: RunNote) -> list[str]:
    verdict = [*rated(note), *([f"“{note.impression}”"] if note.impression else [])]
    said = [f"Tags: {', '.join(map(plain, note.tags))}"] if note.tags else []
    said += [f"A person's verdict: {plain(' · '.join(verdict))}"] if verdict else []
    said += [quoted(safe_markdown(note.text))] if note.text else []
    return [f"**{plain(run.name)}**", *said] if said else []


def _gotcha(one: Gotcha) -> list[str]:
    about = " and ".join([*(["this cause"] if one.cause else []), *([plain(one.flag)] if one.flag else [])])
    address = (one.link or "").replace("<", "%3C").replace(">", "%3E")
    link = f" [more](<{address}>)" if is_web_link(address) else ""
    return [f"**Gotcha: {plain(one.failure)}** (kept with {about}){link}", quoted(safe_markdown(one.workaround))]


def _configurations(data: ReportData) -> list[str]:
    """The table by which such configurations are published."""
    if not data.comparison.arms:
        return []
    reports = {one.run.id: one for one in data.reports}
    head = ["Config", "Runtime", "Weights", "KV cache", "KV pool", "Peak TG (p99)", "Typical TG", "Acceptance", "Notes"]
    return ["## Configurations", table(head, [_configuration(arm, reports) for arm in data.comparison.arms])]


def _configuration(arm: Arm, reports: dict[str, RunReport]) -> list[str]:
    mine, served = [reports[run.run_id] for run in arm.runs], arm.runs[0].served
    settings, config = served.settings, mine[0].run.config
    pool = next((run.kv_cache_tokens for run in arm.runs if run.kv_cache_tokens), None)
    low, high = (_median(getattr(one.summary, f"typical_{end}_tps") for one in mine) for end in ("low", "high"))
    rate, length = _median(one.acceptance.rate for one in mine), _median(one.acceptance.length for one in mine)
    accepted = [f"{100 * rate:.1f} %"] if rate is not None else []
    accepted += [f"length {length:.2f}"] if length is not None else []
    weights = settings.get("quantization") or settings.get("dtype") or config.quantization or DASH
    cells = [arm.name, f"{engine_title(mine[0].run)} {served.engine_version or ''}", weights]
    cells += [settings.get("kv_cache_dtype") or DASH, f"{pool:,} tok" if pool else DASH]
    cells.append(_speed(_median(one.summary.peak_tps for one in mine)))
    cells.append(DASH if low is None or high is None else f"{three_digits(low)}-{three_digits(high)} tok/s")
    return [plain(cell) for cell in [*cells, ", ".join(accepted) or DASH, ", ".join(_notes(arm))]]


def _notes(arm: Arm) -> list[str]:
    """'262,144 ctx, mtp x4, 3 starts'."""
    settings = arm.runs[0].served.settings
    context, method = settings.get("max_model_len"), settings.get("speculative.method")
    said = [f"{context:,} ctx"] if isinstance(context, int) else []
    said += [f"{method} x{settings.get('speculative.num_tokens')}"] if method else []
    return [*said, "1 start" if len(arm.starts) == 1 else f"{len(arm.starts)} starts"]


def _viewpoints(data: ReportData) -> list[str]:
    rows = [[plain(cell) for cell in line[: len(HEAD)]] for line in lines_of(data)]
    return ["## Best by viewpoint", table(HEAD, rows)] if rows else []


def _numbers(data: ReportData) -> list[str]:
    """One table a section, a column an arm; what nobody knows is left out."""
    arms = data.comparison.arms
    found = list(dict.fromkeys(what for values in data.metrics.values() for what in values))
    blocks = []
    for section in Section:
        rows = []
        for what in found:
            values = [value_of_arm(arm, data.metrics, what) for arm in arms] if what.section is section else []
            if any(value is not None for value in values):
                unit = f" ({what.unit})" if what.unit else ""
                rows.append([plain(what.title + unit), *(digits_of(what, value) for value in values)])
        if rows:
            blocks += [f"## {section.value}", table(["Metric", *(plain(arm.name) for arm in arms)], rows, numeric=True)]
    return blocks


def _kinds(data: ReportData) -> list[str]:
    answers = data.comparison.answers
    names = list(dict.fromkeys(part.ratio.name for one in answers for part in one.parts))
    rows = [[plain(name), *_cells([ranked_part(one, name) for one in answers])] for name in names]
    return _by("By kind of prompt", "Kind of prompt", data, rows) if len(names) > 1 else []


def _rungs(data: ReportData) -> list[str]:
    rows = [
        [f"{rung[0].pair.objective.concurrency} at once", *_cells([ranked_whole(one) for one in rung])]
        for rung in data.rungs
    ]
    return _by("By concurrency", "Output tok/s", data, rows) if len(rows) > 1 else []


def _by(heading: str, corner: str, data: ReportData, rows: Sequence[Sequence[str]]) -> list[str]:
    if not any(one.is_ranked for one in data.comparison.answers):
        return []
    return [f"## {heading}", table([corner, *(plain(arm.name) for arm in data.comparison.arms)], rows, numeric=True)]


def _cells(parts: Sequence[Part | None]) -> list[str]:
    base = next((part.ratio.values[0] for part in parts if part), None)
    return [_speed(base), *(_part(part) for part in parts)]


def _part(part: Part | None) -> str:
    if part is None:
        return DASH
    one = part.ratio
    between = f" ({one.interval[0]:.2f} to {one.interval[1]:.2f})" if one.interval else ""
    return f"{_speed(one.values[1])}, {one.ratio:.2f}×{between}"


def _guard(data: ReportData) -> list[str]:
    answers = data.comparison.answers
    rows = findings(answers, named(data.comparison.arms))
    shown = [
        [TITLES[r.code], STANDINGS[r.standing], _found(r, answers)] for r in rows if r.standing is not Standing.SAME
    ]
    return ["## May I say so?", table(["", "", "found"], [[plain(w) for w in row] for row in shown])] if shown else []


def _found(row: Finding, answers: Sequence[Comparison]) -> str:
    """What was found, with the names of the arms where it is not of all."""
    arms = {answer.pair.other.id: answer.pair.other.name for answer in answers}
    return "; ".join(
        one.words if len(one.arm_ids) == len(arms) else f"{', '.join(arms[i] for i in one.arm_ids)}: {one.words}"
        for one in row.found
    )


def _commands(data: ReportData) -> list[str]:
    first = {arm.id for arm in data.comparison.arms} or {run.id for run in data.runs}
    shown = [run for run in data.runs if run.id in first and run.config.argv]
    blocks = [part for run in shown for part in (plain(run.name), fenced(command_text(run)))]
    return ["## Commands", *blocks] if blocks else []


def _runs(data: ReportData) -> list[str]:
    return ["## Runs", table(["Run", "Id", "State", "Started", "Lasted"], [_run(run) for run in data.runs])]


def _run(run: Run) -> list[str]:
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    cells = [run.name, run.id, run.state.value, utc_moment(run.started_at or run.created_at, SECONDS)]
    return [plain(cell) for cell in [*cells, duration(lasted)]]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _speed(value: float | None) -> str:
    return DASH if value is None else f"{three_digits(value)} tok/s"
