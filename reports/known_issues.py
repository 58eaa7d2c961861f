"""Known issues: gotchas that people saved here, and failures that others published, as one list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from notes import Gotcha
from reference.statements import Failure, load_failures

OPEN_ISSUE = "open_issue"  # kind of a published failure without a remedy


class IssueOrigin(StrEnum):
    """Where a known issue comes from."""

    SAVED = "saved"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """One issue, with the entry that it comes from."""

    entry: Gotcha | Failure

    @property
    def origin(self) -> IssueOrigin:
        return IssueOrigin.SAVED if isinstance(self.entry, Gotcha) else IssueOrigin.PUBLISHED

    @property
    def engine(self) -> str | None:
        """The engine's name; None for a published issue, whose document may concern several."""
        return self.entry.engine if isinstance(self.entry, Gotcha) else None

    @property
    def text(self) -> str:
        """Everything that can be searched, in lower case."""
        entry = self.entry
        if isinstance(entry, Gotcha):
            parts = [entry.failure, entry.workaround, entry.cause, entry.flag, entry.engine, entry.link]
        else:
            parts = [entry.quote, entry.workaround, entry.flag, entry.issue, entry.kind]
        return " ".join(part for part in parts if part).lower()


def known_issues(gotchas: Iterable[Gotcha]) -> list[KnownIssue]:
    """Return the gotchas, then the published failures that have a workaround or are still open."""
    published = [failure for failure in load_failures() if failure.workaround or failure.kind == OPEN_ISSUE]
    return [*map(KnownIssue, gotchas), *map(KnownIssue, published)]


def filter_issues(
    issues: Iterable[KnownIssue], words: Sequence[str], origins: Sequence[str], engines: Sequence[str]
) -> list[KnownIssue]:
    """Return the issues that contain all of the words and are of these origins and engines; empty: of any."""
    return [
        issue
        for issue in issues
        if all(word.lower() in issue.text for word in words)
        and (not origins or issue.origin in origins)
        and (not engines or issue.engine in engines)
    ]
