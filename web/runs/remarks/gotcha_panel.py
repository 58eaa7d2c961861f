"""Gotchas: a failure that somebody met, what helps, kept with a configuration and offered where it appears again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import ValidationError

from analysis.gotchas import gotchas_of_failure, words_of
from analysis.note_changes import refusal
from domain import Run
from notes import Gotcha
from reports.runs.run_report import engine_title_of
from storage.ask.note_queries import gotchas
from web import audit, markup
from web.access.roles import current_person
from web.actions import is_editor, require_editor
from web.context import services
from web.markup import markdown_text
from web.moments import WriteMoment, moment_html
from web.safe_markdown import is_web_link, safe_html

ANY = "any"


def gotchas_of_run(run: Run) -> None:
    """What was kept about failures like this one; for runs that failed."""
    offer(gotchas_of_failure(gotchas(services().store), run.config, run.cause), "run")


def offer(found: Sequence[Gotcha], key: str) -> None:
    """Each gotcha with what helps; the operator can change it."""
    for one in found:
        with st.container(key=f"gotcha-{key}-{one.id}"):
            st.html(gotcha_html(one))
            if is_editor() and st.button("Change", key=f"change-{key}-{one.id}", type="tertiary"):
                _edit(one, [])


def gotcha_html(one: Gotcha, write: WriteMoment = moment_html) -> str:
    """The failure, what helps, and where it is from. `write`: how a moment is written."""
    about = " and ".join(
        [*(["this cause"] if one.cause else []), *([f"<code>{markup.text(one.flag)}</code>"] if one.flag else [])]
    )
    link = f' · <a href="{markup.text(one.link)}" target="_blank" rel="noopener noreferrer nofollow">more</a>'
    when = write(one.written_at) if one.written_at else ""
    return (
        f'<div class="pw-gotcha"><p><b>Gotcha: {markup.text(one.failure)}</b></p>'
        f'<div class="pw-note">{safe_html(one.workaround)}</div><p class="pw-muted">Kept with {about}, by the '
        f"{markup.text(one.role)}, {when}{link if one.link else ''}</p></div>"
    )


def gotcha_button(run: Run) -> None:
    """The operator's button that keeps a gotcha with this run's configuration."""
    if st.button("Keep a gotcha", key="keep-gotcha", icon=":material/report:"):
        flags = [word for word in words_of(run.config) if word.startswith("-") or "=" in word]
        fresh = Gotcha(
            id=secrets.token_hex(6), engine=run.config.engine, cause=run.cause, failure=(run.cause or "-")[:500],
            workaround="-", run_id=run.id,
        )  # fmt: skip
        _edit(fresh, list(dict.fromkeys(flags)))


@st.dialog("A gotcha", width="medium")
def _edit(gotcha: Gotcha, flags: Sequence[str]) -> None:
    edit_form(gotcha, flags)


def edit_form(gotcha: Gotcha, flags: Sequence[str]) -> None:
    """What is kept; `flags` are those of the command, to choose from."""
    is_new = gotcha.version == 0
    with st.form("gotcha", border=False):
        given = _fields(gotcha, flags, is_new)
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary")
            withdraw = not is_new and st.form_submit_button("Withdraw")
    if save or withdraw:
        problem = keep(gotcha, given | {"is_withdrawn": bool(withdraw)})
        if problem:
            st.error(markdown_text(problem))
        else:
            st.rerun()


def _fields(gotcha: Gotcha, flags: Sequence[str], is_new: bool) -> dict[str, str | None]:
    st.caption(
        f"Offered for {engine_title_of(gotcha.engine)} wherever a run fails by the same cause, or a command has the "
        "same flag."
    )
    given: dict[str, str | None] = {
        "failure": st.text_input("What goes wrong", "" if gotcha.failure == "-" else gotcha.failure, max_chars=500),
        "workaround": st.text_area("What helps", "" if is_new else gotcha.workaround, max_chars=4_000),
        "link": st.text_input("Link", gotcha.link or "", placeholder="https://").strip() or None,
        "cause": gotcha.cause,
    }
    if gotcha.cause and not st.checkbox("Only where the cause is this one", True, help=gotcha.cause):
        given["cause"] = None
    options = [ANY, *dict.fromkeys([*([gotcha.flag] if gotcha.flag else []), *flags])]
    flag = st.selectbox(
        "Only where the command has this flag", options, 1 if gotcha.flag else 0, accept_new_options=True
    )
    return given | {"flag": None if flag == ANY else flag}


def keep(gotcha: Gotcha, given: Mapping[str, str | bool | None]) -> str | None:
    """Store it as it is given now; why it was not taken."""
    require_editor()
    if (link := given["link"]) and not is_web_link(str(link)):
        return "A link begins with http:// or https:// and names a host."
    try:
        kept = services().store.gotchas.keep(Gotcha.model_validate(gotcha.model_dump() | dict(given)), current_person())
    except ValidationError as error:
        return refusal(error)
    except ValueError as error:
        return str(error)
    audit.record(
        "withdraw a gotcha" if kept.is_withdrawn else "gotcha", [kept.run_id] if kept.run_id else [], kept.failure
    )
    return None
