"""Turns what the store records into notifications: failed runs and loads, ended studies, opened links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from domain import OPEN_STATES, Run, RunState, Study
from redaction import mask_text
from service.notifications.notification import KIND_TITLES, MOST_TEXT, Notification, NotificationKind
from storage.queries.run_data import failed_loads
from storage.queries.run_queries import ended_since
from storage.queries.share_queries import link_openings
from storage.queries.study_queries import studies_ended_since
from storage.store import Store

MOST_ROWS = 200  # of one kind in one look
RUN_PAGE, STUDY_PAGE = "run", "studies"  # paths of pages
ANSWERS = {
    "same": "The arms do not differ by more than the margin",
    "unknown": "The answer is not known",
    "failed": "It failed",
    "measured": "It was measured",
}


@dataclass(frozen=True)
class EventReader:
    """Reads events from the store; `url`: Pitwall's address for links."""

    store: Store
    url: str

    def read(self, since: datetime) -> list[Notification]:
        """Return the events after a time, oldest first. Raises duckdb.Error."""
        ended = ended_since(self.store, since, MOST_ROWS)
        runs = {run.id: run for run in [*self.store.runs(OPEN_STATES, MOST_ROWS), *ended]}
        loads = list(self._failed_loads(runs, since))
        described_causes = {(notification.id.split(":")[1], notification.text) for notification in loads}
        failed = [
            self.of_run(run)
            for run in ended
            if run.state is RunState.FAILED and (run.id, _bounded(run.name, run.cause or "")) not in described_causes
        ]
        studies = [self.of_study(study) for study in studies_ended_since(self.store, since)[:MOST_ROWS]]
        return sorted([*loads, *failed, *studies, *self._opened_links(since)], key=lambda event: event.at)

    def of_run(self, run: Run) -> Notification:
        """Return the notification of a failed run."""
        return Notification(
            id=f"run:{run.id}:failed",
            kind=NotificationKind.SERVER_FAILED,
            at=run.ended_at or run.created_at,
            title=KIND_TITLES[NotificationKind.SERVER_FAILED],
            text=_bounded(run.name, run.cause or "The cause is not known."),
            link=self._link(RUN_PAGE, run=run.id),
        )

    def of_study(self, study: Study) -> Notification:
        """Return the notification of an ended study; an upgrade that is slower is a regression."""
        kind = NotificationKind.REGRESSION if is_regression(study) else NotificationKind.STUDY_DECIDED
        return Notification(
            id=f"study:{study.id}:ended",
            kind=kind,
            at=study.updated_at,
            title=KIND_TITLES[kind],
            text=_bounded(study.title, _answer_text(study.answer or {})),
            link=self._link(STUDY_PAGE, study=study.id),
        )

    def _failed_loads(self, runs: Mapping[str, Run], since: datetime) -> Iterator[Notification]:
        for row in failed_loads(self.store, list(runs), since)[:MOST_ROWS]:
            yield Notification(
                id=f"load:{row['run_id']}:{row['ts'].timestamp():.6f}",
                kind=NotificationKind.LOAD_FAILED,
                at=row["ts"],
                title=KIND_TITLES[NotificationKind.LOAD_FAILED],
                text=_bounded(runs[row["run_id"]].name, row["text"]),
                link=self._link(RUN_PAGE, run=row["run_id"]),
            )

    def _opened_links(self, since: datetime) -> Iterator[Notification]:
        for row in link_openings(self.store, since)[:MOST_ROWS]:
            yield Notification(
                id=f"share:{row['share_id']}:opened",
                kind=NotificationKind.SHARE_OPENED,
                at=row["ts"],
                title=KIND_TITLES[NotificationKind.SHARE_OPENED],
                text=_bounded(row["note"] or f"The link to {row['page']}", f"It was made by the {row['created_by']}."),
                link=f"{self.url}/?fold=changes",
            )

    def _link(self, page: str, **query: str) -> str:
        return f"{self.url}/{page}?{urlencode(query)}"


def is_regression(study: Study) -> bool:
    """Whether an upgrade study found the first arm, the one before the upgrade, better under any workload."""
    if study.question != "upgrade" or not study.answer:
        return False
    answers: Sequence[Mapping[str, Any]] = study.answer.get("workloads") or [study.answer]
    return any(answer["winner"] is not None and answer["winner"] == answer["arms"][0]["name"] for answer in answers)


def _answer_text(answer: Mapping[str, Any]) -> str:
    reasons = " ".join(map(str, answer.get("reasons") or ()))
    if answer.get("winner"):
        return f"{answer['winner']} wins. {reasons}"
    return f"{ANSWERS.get(answer.get('answer') or 'unknown', ANSWERS['unknown'])}. {reasons}"


def _bounded(name: str, text: str) -> str:
    return mask_text(f"{name}: {text}".strip())[:MOST_TEXT]
