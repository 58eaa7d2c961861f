"""The result of one check of the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from redaction import mask_text


class Severity(StrEnum):
    """What a result means."""

    OK = "ok"
    NOTE = "note"  # something is absent that not everybody needs
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One result: its subject, the facts in a sentence, and what to do about a problem ('' for nothing)."""

    subject: str
    severity: Severity
    text: str
    advice: str = ""

    def masked(self) -> Diagnosis:
        """Return it without secrets, since it is copied into reports of bugs."""
        return replace(self, text=mask_text(self.text), advice=mask_text(self.advice))


def well(subject: str, text: str) -> Diagnosis:
    """Return the result of a check that found nothing wrong."""
    return Diagnosis(subject, Severity.OK, text)


def note(subject: str, text: str, advice: str = "") -> Diagnosis:
    """Return a result that is a problem only for those who need the subject."""
    return Diagnosis(subject, Severity.NOTE, text, advice)


def problem(subject: str, text: str, advice: str) -> Diagnosis:
    """Return a problem with what to do about it."""
    return Diagnosis(subject, Severity.PROBLEM, text, advice)


def has_problem(diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether any result is a problem."""
    return any(diagnosis.severity is Severity.PROBLEM for diagnosis in diagnoses)
