"""Known failures like a run's own, saved here or published by others, with their workarounds."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from reference.published import load_sources
from reference.statements import Failure, failures_like
from web.markup import markdown_text
from web.run_notes.gotcha_panel import run_gotchas


def known_failures(run: Run) -> None:
    """Show the gotchas saved here, then one note per published failure like that of a failed run."""
    run_gotchas(run)
    if not run.cause:
        return
    failures = failures_like(f"{run.cause or ''} {run.cause_line or ''}", " ".join(run.config.argv))
    for text in workarounds(failures):
        st.info(markdown_text(text))


def workarounds(failures: Sequence[Failure]) -> list[str]:
    """Return one sentence per failure with its source and line; equal advice is given once."""
    by_advice = {failure.workaround: failure for failure in reversed(failures)}
    return [
        f"Published workaround for this failure: {advice} {_source(failure)}"
        for advice, failure in reversed(by_advice.items())
    ]


def warnings(failures: Sequence[Failure]) -> list[str]:
    """Return one sentence per failure that a flag may cause, with its source and line."""
    return [
        f"Others failed with {failure.flag}: “{failure.quote}”. {failure.workaround} {_source(failure)}"
        for failure in failures
    ]


def _source(failure: Failure) -> str:
    titles = {source["id"]: source["title"] for source in load_sources()}
    return f"(as published in “{titles[failure.source]}”, line {failure.line})"
