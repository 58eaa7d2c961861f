"""Gotchas: known failures with workarounds, saved for a cause or flag and shown where it occurs again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import ValidationError

from analysis.gotchas import gotchas_of_run, searchable_words
from analysis.note_changes import refusal_text
from domain import Run
from notes import Gotcha
from reports.runs.run_report import engine_title_of
from storage.queries.note_queries import gotchas
from web import audit, markup
from web.access.roles import current_person
from web.actions import is_editor, require_editor
from web.context import services
from web.markup import markdown_text
from web.safe_markdown import is_web_link, safe_html
from web.times import TimeToHtml, time_html

ANY = "any"


def run_gotchas(run: Run) -> None:
    """Show the gotchas about a run's failure, and those that were written at this run."""
    show_gotchas(gotchas_of_run(gotchas(services().store), run), "run")


def show_gotchas(gotchas: Sequence[Gotcha], key: str, links_run: bool = False) -> None:
    """Show each gotcha with its workaround; editors can change it."""
    for gotcha in gotchas:
        with st.container(key=f"gotcha-{key}-{gotcha.id}"):
            st.html(gotcha_html(gotcha, links_run=links_run))
            if is_editor() and st.button("Change", key=f"change-{key}-{gotcha.id}", type="tertiary"):
                _edit(gotcha, [])


def gotcha_html(gotcha: Gotcha, write_time: TimeToHtml = time_html, links_run: bool = False) -> str:
    """Return the failure, workaround and origin as markup. write_time: formats a time; links_run: to the run."""
    conditions = " and ".join(
        [
            *(["this cause"] if gotcha.cause else []),
            *([f"<code>{markup.text(gotcha.flag)}</code>"] if gotcha.flag else []),
        ]
    )
    link = f' · <a href="{markup.text(gotcha.link)}" target="_blank" rel="noopener noreferrer nofollow">more</a>'
    written_at = write_time(gotcha.written_at) if gotcha.written_at else ""
    address = markup.run_link("run", [gotcha.run_id]) if gotcha.run_id else ""
    run_link = f' · <a href="{address}" target="_self">its run</a>' if address and links_run else ""
    return (
        f'<div class="pw-gotcha"><p><b>Gotcha: {markup.text(gotcha.failure)}</b></p>'
        f'<div class="pw-note">{safe_html(gotcha.workaround)}</div><p class="pw-muted">Saved for {conditions}, by the '
        f"{markup.text(gotcha.role)}, {written_at}{link if gotcha.link else ''}{run_link}</p></div>"
    )


def gotcha_button(run: Run) -> None:
    """The button that saves a gotcha for this run's cause or flags."""
    if st.button("Save as a known issue", key="keep-gotcha", icon=":material/report:"):
        flags = [argument for argument in searchable_words(run.config) if argument.startswith("-") or "=" in argument]
        gotcha = Gotcha(
            id=secrets.token_hex(6), engine=run.config.engine, cause=run.cause, failure=(run.cause or "-")[:500],
            workaround="-", run_id=run.id,
        )  # fmt: skip
        _edit(gotcha, list(dict.fromkeys(flags)))


@st.dialog("A known issue", width="medium")
def _edit(gotcha: Gotcha, flags: Sequence[str]) -> None:
    edit_form(gotcha, flags)


def edit_form(gotcha: Gotcha, flags: Sequence[str]) -> None:
    """The form of a gotcha. flags: those of the command, to choose from."""
    is_new = gotcha.version == 0
    with st.form("gotcha", border=False):
        fields = _read_fields(gotcha, flags, is_new)
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary")
            withdraw = not is_new and st.form_submit_button("Withdraw")
    if save or withdraw:
        refused = keep(gotcha, fields | {"is_withdrawn": bool(withdraw)})
        if refused:
            st.error(markdown_text(refused))
        else:
            st.rerun()


def _read_fields(gotcha: Gotcha, flags: Sequence[str], is_new: bool) -> dict[str, str | None]:
    st.caption(
        f"Shown for {engine_title_of(gotcha.engine)} whenever a run fails for the same cause or a command has the same "
        "flag."
    )
    fields: dict[str, str | None] = {
        "failure": st.text_input("What goes wrong", "" if gotcha.failure == "-" else gotcha.failure, max_chars=500),
        "workaround": st.text_area("What helps", "" if is_new else gotcha.workaround, max_chars=4_000),
        "link": st.text_input("Link", gotcha.link or "", placeholder="https://").strip() or None,
        "cause": gotcha.cause,
    }
    if gotcha.cause and not st.checkbox("Only for this cause", True, help=gotcha.cause):
        fields["cause"] = None
    options = [ANY, *dict.fromkeys([*([gotcha.flag] if gotcha.flag else []), *flags])]
    flag = st.selectbox("Only for commands with this flag", options, 1 if gotcha.flag else 0, accept_new_options=True)
    return fields | {"flag": None if flag == ANY else flag}


def keep(gotcha: Gotcha, fields: Mapping[str, str | bool | None]) -> str | None:
    """Store the edited gotcha; return why it was refused, or None."""
    require_editor()
    if (link := fields["link"]) and not is_web_link(str(link)):
        return "A link must begin with http:// or https:// and name a host."
    try:
        saved = services().store.gotchas.save(
            Gotcha.model_validate(gotcha.model_dump() | dict(fields)), current_person()
        )
    except ValidationError as error:
        return refusal_text(error)
    except ValueError as error:
        return str(error)
    audit.record(
        "withdraw a gotcha" if saved.is_withdrawn else "gotcha", [saved.run_id] if saved.run_id else [], saved.failure
    )
    return None
