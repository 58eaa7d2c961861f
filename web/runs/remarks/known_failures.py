"""What was kept here, and what others published, of a failure like this one, and what helped."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from reference.published import load_sources
from reference.statements import Failure, failures_like
from web.markup import markdown_text
from web.runs.remarks.gotcha_panel import gotchas_of_run


def known_failures(run: Run) -> None:
    """What was kept here about such a failure, then a note a published one; nothing where none is alike."""
    gotchas_of_run(run)
    found = failures_like(f"{run.cause or ''} {run.cause_line or ''}", " ".join(run.config.argv))
    for words in workarounds(found):
        st.info(markdown_text(words))


def workarounds(found: Sequence[Failure]) -> list[str]:
    """A sentence a failure with its source and line; equal advice is said once."""
    by_advice = {one.workaround: one for one in reversed(found)}
    return [f"Others met this and published: {advice} {_source(one)}" for advice, one in reversed(by_advice.items())]


def warnings(found: Sequence[Failure]) -> list[str]:
    """A sentence a failure that a flag may bring, with what failed, its source and line."""
    return [f"Others failed with {one.flag}: “{one.quote}”. {one.workaround} {_source(one)}" for one in found]


def _source(one: Failure) -> str:
    titles = {source["id"]: source["title"] for source in load_sources()}
    return f"(as published in “{titles[one.source]}”, line {one.line})"
