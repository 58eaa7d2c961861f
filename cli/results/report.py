"""`./pitwall report RUN...`: writes the report of a comparison, a study or one run."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from domain import Study
    from reports.arms.comparison import ComparisonOptions
    from reports.arms.report_data import ReportData
    from storage.published import PublishedStore


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall report` and its flags to the parser."""
    help_text = "write the report of a comparison, a study or one run: one HTML file, Markdown, or its tables"
    command = commands.add_parser("report", help=help_text, description=help_text)
    command.add_argument("runs", nargs="*", metavar="RUN", help="a run's id; the arm of the first one is the baseline")
    command.add_argument("--study", metavar="ID", help="report on this study, with its runs and its answer")
    command.add_argument("--html", type=Path, metavar="FILE", help="one page that needs no network")
    command.add_argument(
        "--markdown", type=Path, metavar="FILE", help="for a pull request; printed if no output is named"
    )
    command.add_argument("--tables", type=Path, metavar="FOLDER", help="every table as CSV and Parquet")
    command.add_argument(
        "--table", choices=("markdown", "html", "csv", "latex"), help="print the tables to publish in this format"
    )
    command.add_argument(
        "--differences", choices=("percent", "ratio"), default="percent", help="form of differences in these tables"
    )
    command.add_argument("--objective", metavar="NAME", help="what to compare by: decode_tps, output_tps@8, ttft_ms@1")
    command.add_argument("--margin", metavar="SHARE", help="smallest relevant difference (default: 2%%)")
    command.add_argument("--workload", metavar="NAME", help="workload to compare, if the runs share several")
    command.add_argument("--by", default="the operator", metavar="NAME", help="author shown in the report")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the report; return REFUSED with a sentence for an unknown run or study. Raises StoreError, OSError."""
    from settings import load_settings
    from storage.published import PublishedStore
    from storage.published_query import published_query

    settings = load_settings()
    with published_query(settings.published_path) as query:
        data = _data(arguments, PublishedStore(query), settings.prices_path)
    if isinstance(data, str):
        print(data, file=sys.stderr)
        return REFUSED
    _write(arguments, data)
    return DONE


def _data(arguments: argparse.Namespace, store: PublishedStore, prices: Path) -> ReportData | str:
    """Return the report's data, or a sentence why there is none."""
    from reports.arms.report_data import ReportProvenance, report_data
    from settings import VERSION

    study = _study(store, arguments.study) if arguments.study else None
    if arguments.study and study is None:
        return f"There is no study {arguments.study}."
    ids, unknown = _run_ids(store, arguments.runs, study)
    if unknown or not ids:
        return f"There is no run {', '.join(unknown)}." if unknown else "Name a run, or a study that has runs."
    provenance = ReportProvenance(arguments.by, datetime.now(UTC), VERSION)
    return report_data(store, ids, provenance, prices, _options(arguments), study)


def _run_ids(store: PublishedStore, run_ids: list[str], study: Study | None) -> tuple[list[str], list[str]]:
    """Return the given ids with those of the study's ended runs, and the unknown ids."""
    from storage.queries.run_queries import runs_of, runs_of_batch

    known_ids = {run.id for run in runs_of(store, run_ids)}
    of_study = [run.id for run in runs_of_batch(store, study.id) if run.state.is_final] if study else []
    return list(dict.fromkeys([*run_ids, *of_study])), [run_id for run_id in run_ids if run_id not in known_ids]


def _study(store: PublishedStore, study_id: str) -> Study | None:
    from storage.queries.study_queries import studies

    return next((study for study in studies(store) if study.id == study_id), None)


def _options(arguments: argparse.Namespace) -> ComparisonOptions | None:
    """Return the given options; None if there are none, so that a study's own apply."""
    from analysis.evidence.objectives import parse_objective
    from analysis.verdict import MARGIN, parse_margin
    from reports.arms.comparison import ComparisonOptions

    if not (arguments.objective or arguments.margin or arguments.workload):
        return None
    objective = parse_objective(arguments.objective) if arguments.objective else None
    margin = parse_margin(arguments.margin) if arguments.margin else MARGIN
    return ComparisonOptions(objective, margin=margin, workload=arguments.workload)


def _write(arguments: argparse.Namespace, data: ReportData) -> None:
    from web.publish.published_text import FORMATS, DifferenceStyle
    from web.report_export.markdown import report_markdown
    from web.report_export.page import report_page
    from web.report_export.tables import data_tables, table_files

    if arguments.html:
        arguments.html.write_text(report_page(data), "utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(report_markdown(data), "utf-8")
    if arguments.tables:
        arguments.tables.mkdir(parents=True, exist_ok=True)
        for name, body in table_files(data_tables(data)).items():
            (arguments.tables / name).write_bytes(body)
    if arguments.table:
        print(FORMATS[arguments.table](data.published_tables, DifferenceStyle(arguments.differences)), end="")
    elif not (arguments.html or arguments.markdown or arguments.tables):
        print(report_markdown(data), end="")
