"""The list of known issues, with filters that the address keeps."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from notes import Gotcha
from reference.published import load_sources
from reference.statements import Failure
from reports.known_issues import IssueOrigin, KnownIssue, filter_issues, known_issues
from reports.runs.run_report import engine_title_of
from storage.queries.note_queries import gotchas
from web import markup
from web.context import services
from web.run_notes.gotcha_panel import show_gotchas
from web.url_state import choose_some, text_choice

PAGE = "issues"
ORIGINS = {IssueOrigin.SAVED.value: "saved here", IssueOrigin.PUBLISHED.value: "published by others"}
NOTHING_SAVED = (
    "Nothing is saved here yet: *More*, *Save as a known issue* on the page of a run keeps what went wrong and what "
    "helped."
)
FIND_PX, CHOICE_PX = 236, 200


def show_issues() -> None:
    """Show the filters and every issue that passes them."""
    issues = known_issues(gotchas(services().store))
    shown_issues = _filtered(issues)
    saved = [issue.entry for issue in shown_issues if isinstance(issue.entry, Gotcha)]
    published = [issue.entry for issue in shown_issues if isinstance(issue.entry, Failure)]
    if not any(issue.origin is IssueOrigin.SAVED for issue in issues):
        st.caption(NOTHING_SAVED)
    if saved:
        st.subheader(f"Saved here: {len(saved)}")
        show_gotchas(saved, PAGE, links_run=True)
    if published:
        st.subheader(f"Published by others: {len(published)}")
        st.html("".join(map(failure_html, published)))
    if not shown_issues:
        st.info("No issue matches.")


def _filtered(issues: Sequence[KnownIssue]) -> list[KnownIssue]:
    engines = {issue.engine: engine_title_of(issue.engine) for issue in issues if issue.engine}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = text_choice("find", f"{PAGE}-find")
        placeholder = "failure, flag, workaround ..."
        text = st.text_input("Find", choice.initial_value(), key=choice.key, placeholder=placeholder, width=FIND_PX)
        words = choice.save(text).split()
        origins = choose_some("Origin", "origin", PAGE, ORIGINS, "all", width=CHOICE_PX)
        engine_names = choose_some("Engine", "engine", PAGE, engines, "all", width=CHOICE_PX) if engines else []
    return filter_issues(issues, words, origins, engine_names)


def failure_html(failure: Failure) -> str:
    """Return a published failure with its remedy and source as markup."""
    titles = {source["id"]: source["title"] for source in load_sources()}
    remedy = f'<div class="pw-note">{markup.text(failure.workaround)}</div>' if failure.workaround else ""
    flag = f"For <code>{markup.text(failure.flag)}</code> · " if failure.flag else ""
    issue = f"Issue {markup.text(failure.issue)} · " if failure.issue else ""
    open_text = "" if failure.workaround else "No workaround was published. "
    source = f"“{markup.text(titles[failure.source])}”, line {failure.line}"
    return (
        f'<div class="pw-gotcha"><p><b>{markup.text(failure.quote)}</b></p>{remedy}'
        f'<p class="pw-muted">{flag}{issue}{open_text}Published in {source}</p></div>'
    )
