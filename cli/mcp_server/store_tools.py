"""The tools that agents call, without the protocol: each returns JSON data with units, sources and page addresses.

They call the functions of the command line and of the pages, and compute nothing themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from analysis.compare_arms import ArmComparison
from analysis.verdict import VerdictAnswer
from cli.mcp_server.next_measurement import next_measurements
from cli.mcp_server.untrusted import NOTE, shortened
from cli.results.compare import ComparisonReading, ComparisonWords, read_comparison
from commands.explain import explain
from domain import Run
from errors import PitwallError
from machine.run_with_timeout import run_bounded
from reports.arms.comparison import run_names
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import report_on
from service.proposals import LoadProposal, Proposal, ProposalBook
from settings import Settings
from storage.published import PublishedStore
from storage.published_query import published_query
from storage.queries.run_queries import runs_named, runs_of
from storage.sandbox.client import Sandbox
from storage.sandbox.job import SandboxLimits
from storage.user_sql.formats import as_json
from web.compare.answer.guard_words import TITLES, row_text
from web.markup import run_link
from web.words import reason_text

MOST_RUNS = 50  # in one answer
MOST_SEARCHED = 1_000  # newest runs of the words that are filtered further
MOST_COMPARED = 60
MOST_COMMAND_CHARS = 100_000
SQL_LIMITS = SandboxLimits(most_rows=200, most_bytes=1 << 20)
SQL_CELL_CHARS = 1_000
RANKED = {VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.SAME, VerdictAnswer.DIFFERENT}


class StoreTools:
    """Answers from one data folder; thread-safe, since each call opens the published file for itself."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sandbox = Sandbox(settings, run_bounded, SQL_LIMITS)
        self._proposals = ProposalBook(settings.proposals_path)

    def find_runs(
        self, words: str = "", engine: str | None = None, state: str | None = None, limit: int = 20
    ) -> dict[str, Any]:
        """Return the newest runs whose name or id has all words, live ones included."""
        with self._store() as store:
            ids = sorted(runs_named(store, words.lower().split()), reverse=True)[:MOST_SEARCHED]
            runs = [run for run in runs_of(store, ids) if engine in (None, run.config.engine)]
        matches = [run for run in runs if state in (None, run.state.value)]
        return _answer(
            {"runs": [self._run_line(run) for run in matches[: min(limit, MOST_RUNS)]], "matches": len(matches)},
            source="the view `runs`; the newest first",
        )

    def describe_run(self, run_id: str) -> dict[str, Any]:
        """Return a run's configuration and every metric with unit and definition, or the reason why it is unknown."""
        with self._store() as store:
            run = self._run(store, run_id)
            metrics = metrics_of_runs(store, report_on(store, [run]))[run.id]
        values = [
            {"metric": metric.key, "title": metric.title, "value": value.value, "unit": metric.definition.unit}
            for metric, value in metrics.items()
            if value.value is not None
        ]
        unknown = {metric.key: reason_text(value.reason) for metric, value in metrics.items() if value.value is None}
        config = run.config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        return _answer(
            {**self._run_line(run), "cause": run.cause, "config": config, "metrics": values, "unknown": unknown},
            source="docs/metrics.md defines each metric",
        )

    def explain_command(self, command: str) -> dict[str, Any]:
        """Return the reading of a launch command, as `./pitwall explain` prints it; nothing is run."""
        if len(command) > MOST_COMMAND_CHARS:
            raise PitwallError(f"A command has at most {MOST_COMMAND_CHARS} characters.")
        return _answer({"command": explain(command).as_json()}, source="./pitwall explain")

    def compare_runs(self, words: ComparisonWords) -> dict[str, Any]:
        """Return the answer per arm with the guard's refusals and their reasons; a refused arm has no ratio."""
        reading = self._comparison(words)
        fields = reading.as_json()
        names = run_names(reading.report.arms)
        answers = [
            {
                "is_claim_allowed": _may_claim(answer),
                "answer": json_answer["answer"],
                "sentence": json_answer["sentence"],
                "ratio": json_answer["ratio"],
                "ratio_interval": json_answer["interval"],
                "refusals": [
                    {"code": row.code.value, "title": TITLES[row.code], "reason": row_text(row, names)}
                    for row in answer.refused
                ],
                "factors": [
                    {name: factor[name] for name in ("name", "ratio", "interval")} for factor in json_answer["factors"]
                ],
                "next": next_measurements(answer, names),
            }
            for answer, json_answer in zip(reading.report.answers, fields["answers"], strict=True)
        ]
        return _answer(
            {
                "objective": {"name": fields["objective"], "title": reading.report.objective.title},
                "arms": [{name: arm[name] for name in ("name", "runs", "starts")} for arm in fields["arms"]],
                "answers": answers,
                "ratios": "of the arm to the first arm, with 95 % intervals over server starts",
                "accuracy": fields["accuracy"],
                "page": self._page("compare", words.runs),
            },
            source="./pitwall compare; docs/answers/comparability.md, docs/answers/statistics.md",
        )

    def what_to_measure_next(self, words: ComparisonWords) -> dict[str, Any]:
        """Return per arm what would settle the comparison."""
        reading = self._comparison(words)
        names = run_names(reading.report.arms)
        steps = [
            {
                "arm": answer.pair.contender.name,
                "against": answer.pair.baseline.name,
                "next": next_measurements(answer, names),
            }
            for answer in reading.report.answers
        ]
        return _answer({"arms": steps, "page": self._page("compare", words.runs)}, source="./pitwall compare")

    def query_sql(self, sql: str) -> dict[str, Any]:
        """Return the rows of one SELECT over the views; raises SqlRefusedError."""
        result = self._sandbox.ask(sql)
        rows = shortened(orjson.loads(as_json(result))["rows"], SQL_CELL_CHARS)
        return {"rows": rows, "is_truncated": result.truncated, "source": "docs/schema.md", "note": NOTE}

    def propose_load(self, load: LoadProposal, why: str, by: str) -> dict[str, Any]:
        """Leave a load for the operator's decision; raises ProposalError, LaunchRefusedError."""
        with self._store() as store:
            run = self._run(store, load.run_id)
        return _pending(self._proposals.propose_load(run, load, why, by))

    def propose_study(self, toml: str, why: str, by: str) -> dict[str, Any]:
        """Leave a study for the operator's decision; raises ProposalError, StudyFileError."""
        return _pending(self._proposals.propose_study(toml, why, by))

    def _comparison(self, words: ComparisonWords) -> ComparisonReading:
        if len(words.runs) > MOST_COMPARED:
            raise PitwallError(f"At most {MOST_COMPARED} runs are compared at once.")
        return read_comparison(self._settings, words)

    @contextmanager
    def _store(self) -> Iterator[PublishedStore]:
        with published_query(self._settings.published_path) as query:
            yield PublishedStore(query)

    def _run(self, store: PublishedStore, run_id: str) -> Run:
        runs = runs_of(store, [run_id])
        if not runs:
            raise PitwallError(f"There is no run {run_id[:80]}.")
        return runs[0]

    def _run_line(self, run: Run) -> dict[str, Any]:
        return {
            "run_id": run.id,
            "name": run.name,
            "state": run.state.value,
            "engine": run.config.engine,
            "model": run.config.model,
            "quantization": run.config.quantization,
            "workload": run.workload.name if run.workload else None,
            "started_at": run.started_at.isoformat() if run.started_at else None,
            "page": self._page("run", [run.id]),
        }

    def _page(self, page: str, run_ids: Sequence[str]) -> str:
        return f"{self._settings.url}/{run_link(page, run_ids)}"


def _may_claim(answer: ArmComparison) -> bool:
    return answer.is_ranked and answer.judgement is not None and answer.judgement.answer in RANKED


def _answer(fields: dict[str, Any], source: str) -> dict[str, Any]:
    """Return an answer with its source and the note that texts of runs are data."""
    return {**shortened(fields), "source": source, "note": NOTE}


def _pending(proposal: Proposal) -> dict[str, Any]:
    """Return the proposal's id, and that nothing has started."""
    return {
        "proposal": proposal.id,
        "state": "waits for the operator",
        "next": f"The operator decides: ./pitwall proposal list, then ./pitwall proposal accept {proposal.id}. "
        "Nothing has started.",
    }
