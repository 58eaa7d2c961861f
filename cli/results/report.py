"""`./pitwall report RUN...`: the report of a comparison, a study or one run, as files."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from domain import Study
    from reports.arms.comparison import Asking
    from reports.arms.report_data import ReportData
    from storage.published import Published


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall report` and its flags to the parser."""
    words = "write the report of a comparison, a study or one run: one HTML file, Markdown, or its tables"
    command = commands.add_parser("report", help=words, description=words)
    command.add_argument("runs", nargs="*", metavar="RUN", help="a run's id; the first one's arm is the baseline")
    command.add_argument("--study", metavar="ID", help="the runs of this study, with its answer")
    command.add_argument("--html", type=Path, metavar="FILE", help="one page that needs no network")
    command.add_argument(
        "--markdown", type=Path, metavar="FILE", help="for a pull request; printed where no file is named"
    )
    command.add_argument("--tables", type=Path, metavar="FOLDER", help="every table as CSV and Parquet")
    command.add_argument("--objective", metavar="NAME", help="what to compare by: decode_tps, output_tps@8, ttft_ms@1")
    command.add_argument("--margin", metavar="SHARE", help="the smallest difference that matters: 2%% unless set")
    command.add_argument("--by", default="the operator", metavar="NAME", help="who made it, as the report says")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """REFUSED with a sentence where a run or a study is not known; raises StoreError, OSError."""
    from settings import load_settings
    from storage.published import Published
    from storage.published_query import published_query

    settings = load_settings()
    with published_query(settings.published_path) as query:
        data = _data(arguments, Published(query), settings.prices_path)
    if isinstance(data, str):
        print(data, file=sys.stderr)
        return REFUSED
    _write(arguments, data)
    return DONE


def _data(arguments: argparse.Namespace, store: Published, prices: Path) -> ReportData | str:
    """The report, or why there is none."""
    from reports.arms.report_data import Made, report_data
    from settings import VERSION

    study = _study(store, arguments.study) if arguments.study else None
    if arguments.study and study is None:
        return f"There is no study {arguments.study}."
    ids, unknown = _run_ids(store, arguments.runs, study)
    if unknown or not ids:
        return f"There is no run {', '.join(unknown)}." if unknown else "Name a run, or a study that has runs."
    made = Made(arguments.by, datetime.now(UTC), VERSION)
    return report_data(store, ids, made, prices, _asking(arguments), study)


def _run_ids(store: Published, named: list[str], study: Study | None) -> tuple[list[str], list[str]]:
    """Those of the words and of the study that have ended; and those that no run has."""
    from storage.ask.run_queries import runs_of, runs_of_batch

    known = {one.id for one in runs_of(store, named)}
    of_study = [one.id for one in runs_of_batch(store, study.id) if one.state.is_final] if study else []
    return list(dict.fromkeys([*named, *of_study])), [run_id for run_id in named if run_id not in known]


def _study(store: Published, study_id: str) -> Study | None:
    from storage.ask.study_queries import studies

    return next((study for study in studies(store) if study.id == study_id), None)


def _asking(arguments: argparse.Namespace) -> Asking | None:
    """None where nothing is said: a study knows what it asks."""
    from analysis.evidence.objectives import parse_objective
    from analysis.verdict import MARGIN, parse_margin
    from reports.arms.comparison import Asking

    if not (arguments.objective or arguments.margin):
        return None
    objective = parse_objective(arguments.objective) if arguments.objective else None
    return Asking(objective, margin=parse_margin(arguments.margin) if arguments.margin else MARGIN)


def _write(arguments: argparse.Namespace, data: ReportData) -> None:
    from web.report.markdown import report_markdown
    from web.report.page import report_page
    from web.report.tables import data_tables, table_files

    if arguments.html:
        arguments.html.write_text(report_page(data), "utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(report_markdown(data), "utf-8")
    if arguments.tables:
        arguments.tables.mkdir(parents=True, exist_ok=True)
        for name, body in table_files(data_tables(data)).items():
            (arguments.tables / name).write_bytes(body)
    if not (arguments.html or arguments.markdown or arguments.tables):
        print(report_markdown(data), end="")
