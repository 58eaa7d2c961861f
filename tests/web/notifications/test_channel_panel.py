"""Channels on the page: who adds, tests and removes them, and what is never shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from service.notifications.channels import ChannelKind, parse_kinds
from service.notifications.notification import KIND_TITLES, NotificationKind
from service.notifications.notifier import ChannelState, Notifier
from settings import Settings
from storage.store import Store
from tests.service.notifications.test_delivery import Receiver, channel_to, running_receiver
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.notifications.channel_panel import KIND_NAMES, add_channel, remove_channel, send_test

ROOT = Path(__file__).resolve().parents[3]
SECRET = "https://hooks.example/services/verysecretpath"
PANEL = """
from web.notifications.channel_panel import channel_section
from web.sections import show_sections

show_sections("runs", [channel_section()])
"""


@pytest.fixture
def notifier(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> Iterator[Notifier]:
    notifier = Notifier(settings, store)
    provide_services(SimpleNamespace(store=store, settings=settings, notifier=notifier))
    be(monkeypatch, "operator")
    yield notifier


def be(monkeypatch: pytest.MonkeyPatch, role: str | None) -> None:
    for module in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{module}.current_role", lambda: role)


def filled(at: AppTest, **values: str) -> AppTest:
    for name, value in values.items():
        at.text_input(key=f"channel-{name}").input(value)
    next(button for button in at.button if button.label == "Add the channel").click()
    at.run()
    assert not at.exception, at.exception
    return at


def html_of(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def test_operator_adds_and_removes_a_channel_with_audit(notifier: Notifier, store: Store) -> None:
    at = filled(script_at(PANEL, fold="notifications"), name="team", target=SECRET, quiet="22:00-07:00")
    (channel,) = notifier.channels.all()
    assert (channel.url, set(channel.events)) == (SECRET, set(NotificationKind))
    assert at.text_input(key="channel-target").value == "" and "verysecret" not in html_of(at)
    assert "hooks.example/..." in html_of(at) and "22:00-07:00" in html_of(at)
    notifier.states = {
        "team": ChannelState(failures=3, failure="hooks.example: it answered with status 500.", waiting=4)
    }
    assert "tried 3 times" in html_of(script_at(PANEL, fold="notifications"))
    script_at(PANEL, fold="notifications").button(key="remove-channel-team").click().run()
    assert notifier.channels.all() == []
    store.record([]).result()
    assert [entry.action for entry in store.audit(9)] == ["remove channel", "add channel"]
    assert not any("verysecret" in entry.detail for entry in store.audit(9))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "team", "target": "http://hooks.example/x"}, "unencrypted"),
        ({"name": "a b", "target": SECRET}, "1 to 40 letters"),
        ({"name": "team", "target": SECRET, "quiet": "night"}, "Quiet hours are two times"),
    ],
)
def test_wrong_input_gets_a_sentence(notifier: Notifier, values: dict[str, str], sentence: str) -> None:
    at = filled(script_at(PANEL, fold="notifications"), **values)
    assert sentence in at.error[0].value and notifier.channels.all() == []


def test_others_see_and_change_nothing(notifier: Notifier, monkeypatch: pytest.MonkeyPatch) -> None:
    notifier.channels.add(channel_to(SECRET, name="team"))
    for role in ("editor", "viewer", "guest", None):
        be(monkeypatch, role)
        assert not script_at(PANEL, fold="notifications").button
        for act in (
            lambda: remove_channel("team"),
            lambda: send_test("team"),
            lambda: add_channel("x", ChannelKind.JSON, SECRET, list(parse_kinds(())), ""),
        ):
            with pytest.raises(PermissionError):
                act()
    assert [channel.name for channel in notifier.channels.all()] == ["team"]


def test_test_message_reaches_a_real_receiver(notifier: Notifier) -> None:
    with running_receiver() as receiver:
        notifier.channels.add(channel_to(receiver.url, name="team"))
        at = script_at(PANEL, fold="notifications")
        at.button(key="test-channel-team").click().run()
        assert [body["kind"] for _, body in receiver.requests] == ["test"]
        assert [toast.value for toast in at.toast] == ["team accepted the message."]
        _assert_failure_is_said(receiver)


def _assert_failure_is_said(receiver: Receiver) -> None:
    receiver.status = 404
    at = script_at(PANEL, fold="notifications")
    at.button(key="test-channel-team").click().run()
    assert "status 404" in at.toast[0].value


def test_every_kind_and_event_is_in_the_document() -> None:
    document = (ROOT / "docs/notifications.md").read_text()
    assert all(f"| `{name}` |" in document for name in (*ChannelKind, *NotificationKind))
    assert set(KIND_NAMES) == set(ChannelKind) and set(KIND_TITLES) == set(NotificationKind)


def test_a_closed_section_costs_nothing(notifier: Notifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(notifier.channels), "all", lambda self: pytest.fail("read while the section is closed"))
    at = script_at(PANEL)
    assert [pills.options for pills in at.button_group] == [["Notifications"]] and not at.text_input
