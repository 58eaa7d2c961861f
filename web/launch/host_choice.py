"""On which machine a launch starts its server: this one, or a host that was added; and what that one lacks for it."""

from __future__ import annotations

import streamlit as st

from commands.presets import Needs
from domain import Config
from launcher.remote.asking import lacks_of
from launcher.remote.hosts import HostBook, HostError
from launcher.remote.orders import Lacks
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text

KEY = "launch-host"
ANSWER_KEY = "told-by-host"
HERE = "this machine"


def choose_host() -> None:
    """A choice where any host was added; without one nothing is asked."""
    labels = [host.label for host in _book().all()]
    if st.session_state.get(KEY) not in [None, *labels]:
        del st.session_state[KEY]
    if labels:
        st.selectbox("On machine", [None, *labels], format_func=lambda label: label or HERE, key=KEY)


def chosen_host() -> str | None:
    """The label of the host; None for this machine."""
    label: str | None = st.session_state.get(KEY)
    return label


def start_from(label: str | None) -> None:
    """Propose the host of the run that the draft is taken from."""
    st.session_state[KEY] = label


def lacks_there(label: str, config: Config, needs: Needs) -> None:
    """What the host lacks, asked when somebody wants to know: it may take seconds to answer, or not answer at all."""
    asked = (label, config.model_dump_json(), needs.model_dump_json())
    if st.button(f"Ask {markdown_text(label)} what it lacks"):
        require_operator()
        with st.spinner(f"{label} is asked by ssh"):
            st.session_state[ANSWER_KEY] = (asked, _asked_there(label, config, needs))
    before, answer = st.session_state.get(ANSWER_KEY, (None, None))
    if before != asked:
        st.caption(f"{markdown_text(label)} says what it lacks when it is asked, or at the launch.")
    elif isinstance(answer, str):
        st.error(markdown_text(answer))
    else:
        show_lacks(answer, label)


def _asked_there(label: str, config: Config, needs: Needs) -> Lacks | str:
    try:
        return lacks_of(_book().host(label), config, needs)
    except HostError as error:
        return str(error)


def show_lacks(lacks: Lacks, machine: str) -> None:
    """What is missing, what is doubtful and what nobody can know, of one machine."""
    name = markdown_text(machine[:1].upper() + machine[1:] if machine == HERE else machine)
    if lacks.doubts:
        st.info("**It may fail, or wait**\n" + "\n".join(f"- {markdown_text(one)}" for one in lacks.doubts))
    if lacks.lacks:
        st.warning(f"**{name} lacks**\n" + "\n".join(f"- {markdown_text(one)}" for one in lacks.lacks))
    else:
        st.caption(f"{name} has what the command names.")
    if lacks.unknown:
        st.caption("Not known before the start: " + " ".join(map(markdown_text, lacks.unknown)))


def _book() -> HostBook:
    return HostBook(services().settings.hosts_path)
