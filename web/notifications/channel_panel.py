"""The operator's section of notification channels: their state, a test message, removal, and the form to add one."""

from __future__ import annotations

import shlex
from functools import partial

import streamlit as st
from pydantic import ValidationError

from domain import utc_now
from errors import PitwallError
from service.notifications.channels import (
    ChannelError,
    ChannelKind,
    NotificationChannel,
    describe,
    parse_kinds,
    parse_quiet_hours,
)
from service.notifications.delivery import deliver
from service.notifications.notification import KIND_TITLES, NotificationKind
from service.notifications.notifier import ChannelState, Notifier
from service.notifications.trial_message import trial_notification
from web import audit, markup
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.sections import PageSection
from web.times import time_html

REFRESH_S = 5.0
HEAD = ["name", "kind", "to", "events", "quiet", "sent", "waiting", "state"]
NOT_A_NAME = "A name has 1 to 40 letters, digits, '.', '_' or '-'."
NOT_WORDS = "The command has an unclosed quotation mark."
ADDED = "channel-added"  # session state: the next script run clears the form
NAME, TARGET, QUIET = "channel-name", "channel-target", "channel-quiet"
KIND_NAMES = {
    ChannelKind.JSON: "webhook (plain JSON)",
    ChannelKind.SLACK: "Slack",
    ChannelKind.DISCORD: "Discord",
    ChannelKind.NTFY: "ntfy",
    ChannelKind.COMMAND: "command",
}


def channel_section() -> PageSection | None:
    """Return the operator's section; None for others, and where nothing is ever sent."""
    notifier = services().notifier
    return (
        PageSection("notifications", "Notifications", partial(_show, notifier)) if is_operator() and notifier else None
    )


def _show(notifier: Notifier) -> None:
    _show_channels(notifier)
    _show_form()


@st.fragment(run_every=REFRESH_S)
def _show_channels(notifier: Notifier) -> None:
    channels, states = notifier.channels.all(), notifier.states
    if not channels:
        st.caption("Nobody is notified yet.")
        return
    rows = [_row(channel, states.get(channel.name, ChannelState())) for channel in channels]
    st.html(markup.table(HEAD, rows, wraps=True))
    for channel in channels:
        with st.container(horizontal=True, key=f"channel-{channel.name}"):
            name = markdown_text(channel.name)
            st.button(
                f"Test {name}", key=f"test-channel-{channel.name}", on_click=Once(send_test), args=(channel.name,)
            )
            st.button(
                f"Remove {name}",
                key=f"remove-channel-{channel.name}",
                on_click=Once(remove_channel),
                args=(channel.name,),
            )


def _row(channel: NotificationChannel, state: ChannelState) -> list[str]:
    events = "all" if set(channel.events) == set(NotificationKind) else ", ".join(channel.events).replace("_", " ")
    quiet = channel.quiet_hours.describe() if channel.quiet_hours else ""
    waiting = f"{state.waiting}, {state.dropped} dropped" if state.dropped else str(state.waiting)
    texts = [channel.name, KIND_NAMES[channel.kind], channel.masked_target, events, quiet, str(state.sent), waiting]
    return [*map(markup.text, texts), _state_html(state)]


def _state_html(state: ChannelState) -> str:
    if state.failure:
        return markup.text(f"tried {state.failures} times: {state.failure}")
    return f"last sent {time_html(state.last_sent_at)}" if state.last_sent_at else ""


def _show_form() -> None:
    if st.session_state.pop(ADDED, False):
        for key in (NAME, TARGET, QUIET):
            st.session_state[key] = ""
    with st.form("channel", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Channel", max_chars=40, placeholder="its name here", key=NAME, width=160)
            kind = st.selectbox(
                "Kind", list(ChannelKind), format_func=KIND_NAMES.__getitem__, key="channel-kind", width=200
            )
            target = st.text_input("Webhook address or command", type="password", key=TARGET, width=360)
            quiet = st.text_input("Quiet hours", placeholder="22:00-07:00", key=QUIET, width=140)
        events = st.multiselect(
            "Events", list(NotificationKind), default=list(NotificationKind), format_func=KIND_TITLES.__getitem__,
            key="channel-events",
        )  # fmt: skip
        pressed = st.form_submit_button("Add the channel")
        st.caption(
            "Use https, or http on this machine. Whoever knows a webhook's address can post there, so it is kept in a "
            "private file and not shown again. A command is a program's absolute path with its arguments; it gets the "
            "notification as JSON on its standard input."
        )
    if pressed and kind:
        add_channel(name.strip(), kind, target.strip(), events, quiet)


def add_channel(name: str, kind: ChannelKind, target: str, events: list[NotificationKind], quiet: str) -> None:
    """Add a channel, or show why not; only for the operator."""
    require_operator()
    notifier = services().notifier
    assert notifier, "the section is shown only with a notifier"
    is_command = kind is ChannelKind.COMMAND
    try:
        if not events:
            raise ChannelError("Choose at least one kind of event.")
        channel = NotificationChannel(
            name=name,
            kind=kind,
            url="" if is_command else target,
            argv=_words(target) if is_command else (),
            events=parse_kinds(events),
            quiet_hours=parse_quiet_hours(quiet),
            added_by=current_person(),
            added_at=utc_now(),
        )
        notifier.channels.add(channel)
    except ValidationError:
        st.error(NOT_A_NAME)
        return
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("add channel", detail=describe(channel))
    st.session_state[ADDED] = True
    st.rerun()


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        raise ChannelError(NOT_WORDS) from None


def send_test(name: str) -> None:
    """Send a test message now and show the result; only for the operator."""
    require_operator()
    notifier = services().notifier
    assert notifier, "the section is shown only with a notifier"
    try:
        deliver(notifier.channels.find(name), trial_notification(services().settings.url))
    except PitwallError as refusal:
        st.toast(markdown_text(str(refusal)), icon=":material/error:")
    else:
        st.toast(f"{markdown_text(name)} accepted the message.", icon=":material/check:")


def remove_channel(name: str) -> None:
    """Remove a channel; only for the operator."""
    require_operator()
    notifier = services().notifier
    assert notifier, "the section is shown only with a notifier"
    try:
        channel = notifier.channels.remove(name)
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("remove channel", detail=describe(channel))
