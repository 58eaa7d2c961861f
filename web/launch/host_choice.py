"""The choice of machine for a launch, this one or an added host, and what the host lacks."""

from __future__ import annotations

import streamlit as st

from commands.presets import Needs
from domain import Config
from launcher.checks.check_result import MachineCheckResult
from launcher.remote.hosts import HostBook, HostError
from launcher.remote.remote_checks import check_on_host
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text

KEY = "launch-host"
LACKS_KEY = "told-by-host"
THIS_MACHINE = "this machine"


def choose_host() -> None:
    """A choice of machine if any host was added; otherwise nothing is shown."""
    labels = [host.label for host in _book().all()]
    if st.session_state.get(KEY) not in [None, *labels]:
        del st.session_state[KEY]
    if labels:
        st.selectbox("On machine", [None, *labels], format_func=lambda label: label or THIS_MACHINE, key=KEY)


def chosen_host() -> str | None:
    """Return the host's label; None for this machine."""
    label: str | None = st.session_state.get(KEY)
    return label


def propose_host(label: str | None) -> None:
    """Preselect the host of the run that the draft is taken from."""
    st.session_state[KEY] = label


def show_host_lacks(label: str, config: Config, needs: Needs) -> None:
    """Show what the host lacks, checked on demand: it may take seconds to answer, or never answer."""
    question = (label, config.model_dump_json(), needs.model_dump_json())
    if st.button(f"Check {markdown_text(label)}"):
        require_operator()
        with st.spinner(f"Checking {label} over ssh"):
            st.session_state[LACKS_KEY] = (question, _ask_host(label, config, needs))
    last_question, answer = st.session_state.get(LACKS_KEY, (None, None))
    if last_question != question:
        st.caption(f"{markdown_text(label)} is checked on demand, and at the launch.")
    elif isinstance(answer, str):
        st.error(markdown_text(answer))
    else:
        show_lacks(answer, label)


def _ask_host(label: str, config: Config, needs: Needs) -> MachineCheckResult | str:
    try:
        return check_on_host(_book().find(label), config, needs)
    except HostError as error:
        return str(error)


def show_lacks(lacks: MachineCheckResult, machine: str) -> None:
    """Show what a machine lacks, what is doubtful, and what cannot be known before the start."""
    name = markdown_text(machine[:1].upper() + machine[1:] if machine == THIS_MACHINE else machine)
    if lacks.doubts:
        st.info("**It may fail or wait**\n" + "\n".join(f"- {markdown_text(doubt)}" for doubt in lacks.doubts))
    if lacks.lacks:
        st.warning(f"**{name} lacks**\n" + "\n".join(f"- {markdown_text(lack)}" for lack in lacks.lacks))
    else:
        st.caption(f"{name} has everything that the command names.")
    if lacks.unknown:
        st.caption("Not known before the start: " + " ".join(map(markdown_text, lacks.unknown)))


def _book() -> HostBook:
    return HostBook(services().settings.hosts_path)
