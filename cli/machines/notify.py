"""`./pitwall notify add|list|remove|test`: manages the channels to which notifications go."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cli.answers import Answer, add_command, audit_user

if TYPE_CHECKING:
    from service.notifications.channels import ChannelBook, NotificationChannel

URL_VARIABLE = "PITWALL_NOTIFY_URL"
KINDS = ("json", "slack", "discord", "ntfy", "command")
EVENTS = ("study_decided", "server_failed", "regression", "load_failed", "store_trouble", "share_opened")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall notify add`, `list`, `remove` and `test` to the parser."""
    help_text = "add, list, remove and test the channels to which notifications go"
    notify = commands.add_parser("notify", help=help_text, description=help_text)
    orders = notify.add_subparsers(dest="order", required=True, metavar="ORDER")
    add_parser = add_command(orders, "add", add, "add a webhook or a command, or replace the one of the same name")
    add_parser.add_argument("name", metavar="NAME")
    add_parser.add_argument("kind", choices=KINDS, metavar="KIND", help=" or ".join(KINDS))
    help_text = f"file of mode 0600 with the webhook's address, - for standard input (default: {URL_VARIABLE})"
    add_parser.add_argument("--url-file", metavar="FILE", help=help_text)
    help_text = "the program and its arguments; the notification is JSON on its standard input; the last option"
    add_parser.add_argument(
        "--command", dest="argv", nargs=argparse.REMAINDER, default=[], metavar="WORD", help=help_text
    )
    help_text = f"a kind of event, repeatable (default: all): {', '.join(EVENTS)}"
    add_parser.add_argument("--on", action="append", choices=EVENTS, default=[], metavar="EVENT", help=help_text)
    help_text = "times between which messages wait, such as 22:00-07:00, by this machine's clock"
    add_parser.add_argument("--quiet", default="", metavar="HOURS", help=help_text)
    add_command(orders, "list", list_all, "print the channels, without their addresses")
    remove_parser = add_command(orders, "remove", remove, "remove a channel and what waits for it")
    remove_parser.add_argument("name", metavar="NAME")
    test_parser = add_command(orders, "test", test, "send a test message to a channel now")
    test_parser.add_argument("name", metavar="NAME")


def add(arguments: argparse.Namespace) -> Answer:
    """Add a channel; raises ChannelError, NoTokenError, OSError."""
    from pydantic import ValidationError

    from cli.secret_input import read_token
    from domain import utc_now
    from service.notifications.channels import (
        ChannelError,
        ChannelKind,
        NotificationChannel,
        parse_kinds,
        parse_quiet_hours,
    )

    kind = ChannelKind(arguments.kind)
    url = "" if kind is ChannelKind.COMMAND else read_token(arguments.url_file, URL_VARIABLE, "address", "--url-file")
    try:
        channel = NotificationChannel(
            name=arguments.name,
            kind=kind,
            url=url,
            argv=tuple(arguments.argv),
            events=parse_kinds(arguments.on),
            quiet_hours=parse_quiet_hours(arguments.quiet),
            added_by=audit_user(),
            added_at=utc_now(),
        )
    except ValidationError:
        raise ChannelError("A name has 1 to 40 letters, digits, '.', '_' or '-'.") from None
    _book().add(channel, audit_user())
    return Answer(f"{_describe(channel)}. `./pitwall notify test {channel.name}` sends a message.", _as_json(channel))


def list_all(arguments: argparse.Namespace) -> Answer:
    """List the channels without their addresses."""
    channels = _book().all()
    text = "\n".join(map(_describe, channels)) or "There are no channels."
    return Answer(text, {"channels": [_as_json(channel) for channel in channels]})


def remove(arguments: argparse.Namespace) -> Answer:
    """Remove a channel; raises ChannelError."""
    channel = _book().remove(arguments.name, audit_user())
    return Answer(f"Removed: {_describe(channel)}", _as_json(channel))


def test(arguments: argparse.Namespace) -> Answer:
    """Send a test message; raises ChannelError, DeliveryError."""
    from service.notifications.delivery import deliver
    from service.notifications.trial_message import trial_notification
    from settings import load_settings

    channel = _book().find(arguments.name)
    deliver(channel, trial_notification(load_settings().url))
    return Answer(f"{channel.masked_target} accepted the message.", {"name": channel.name, "sent": True})


def _describe(channel: NotificationChannel) -> str:
    from service.notifications.channels import describe

    return describe(channel)


def _as_json(channel: NotificationChannel) -> dict[str, Any]:
    fields = channel.model_dump(mode="json", exclude={"url", "argv", "quiet_hours"})
    quiet = channel.quiet_hours.describe() if channel.quiet_hours else None
    return fields | {"target": channel.masked_target, "quiet_hours": quiet}


def _book() -> ChannelBook:
    from service.notifications.channels import ChannelBook
    from settings import load_settings

    return ChannelBook(load_settings().notify_path)
