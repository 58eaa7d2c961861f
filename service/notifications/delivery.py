"""Sends one notification to one channel: one request or one process, bounded in time and bytes, never redirected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from errors import PitwallError
from machine.bounded_http import BadAnswerError, BoundedHttp, HttpAnswer, NoAnswerError, ReadLimits
from machine.run_with_timeout import ask_bounded
from redaction import mask_text
from service.notifications.channels import ChannelKind, NotificationChannel, ntfy_parts
from service.notifications.notification import MOST_TEXT, Notification

LIMITS = ReadLimits(body_bytes=64 << 10, total_s=10.0)
CONNECT_S, SILENCE_S = 3.0, 5.0
COMMAND_S, COMMAND_BYTES = 10.0, 64 << 10
DISCORD_CHARACTERS = 2_000


class DeliveryError(PitwallError):
    """A notification that did not arrive, in one sentence without the channel's address."""


def deliver(channel: NotificationChannel, notification: Notification) -> None:
    """Send the notification; raises DeliveryError. A receiver may get one twice if its answer was lost."""
    if channel.kind is ChannelKind.COMMAND:
        _run(channel, notification)
    else:
        _post(channel, notification)


def _post(channel: NotificationChannel, notification: Notification) -> None:
    url = ntfy_parts(channel.url)[0] if channel.kind is ChannelKind.NTFY else channel.url
    body = json.dumps(BODIES[channel.kind](channel, notification)).encode()
    http = BoundedHttp(url, connect_s=CONNECT_S, silence_s=SILENCE_S)
    try:
        answer = http.post("", body, LIMITS)
    except (NoAnswerError, BadAnswerError, httpx.InvalidURL) as error:
        raise DeliveryError(f"{channel.masked_target}: {_without_address(str(error), channel)}.") from None
    finally:
        http.close()
    if not 200 <= answer.status_code < 300:
        raise DeliveryError(f"{channel.masked_target}: {_refusal(answer)}.")


def _refusal(answer: HttpAnswer) -> str:
    if 300 <= answer.status_code < 400:
        return f"it redirects to another address ({answer.status_code}), which is not followed"
    return f"it answered with status {answer.status_code}"


def _without_address(text: str, channel: NotificationChannel) -> str:
    return mask_text(text.replace(channel.url, channel.masked_target).rstrip("."))


def _run(channel: NotificationChannel, notification: Notification) -> None:
    """Run the command with the notification as JSON on its standard input."""
    body = json.dumps(_plain(channel, notification)).encode()
    try:
        output = ask_bounded(channel.argv, body, COMMAND_S, COMMAND_BYTES)
    except OSError as error:
        raise DeliveryError(f"{channel.masked_target}: {error.strerror or type(error).__name__}.") from None
    if output.returncode is None:
        raise DeliveryError(f"{channel.masked_target}: it took longer than {COMMAND_S:g} s or printed too much.")
    if output.returncode:
        last_line = next(reversed(output.stderr.decode("utf-8", "replace").split("\n")[-3:-1]), "")
        detail = f": {mask_text(last_line)[:200]}" if last_line else ""
        raise DeliveryError(f"{channel.masked_target}: it exited with code {output.returncode}{detail}.")


def _plain(channel: NotificationChannel, notification: Notification) -> dict[str, Any]:
    return {"source": "pitwall", **notification.model_dump(mode="json")}


def _slack(channel: NotificationChannel, notification: Notification) -> dict[str, Any]:
    title, text = _escaped(notification.title), _escaped(notification.text)
    return {"text": f"*{title}*\n{text}\n<{_escaped(notification.link)}|Open in Pitwall>"}


def _escaped(text: str) -> str:
    """Escape the three characters with which Slack marks links and mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _discord(channel: NotificationChannel, notification: Notification) -> dict[str, Any]:
    content = f"**{notification.title}**\n{notification.text}\n{notification.link}"
    return {"content": content[:DISCORD_CHARACTERS], "allowed_mentions": {"parse": []}}


def _ntfy(channel: NotificationChannel, notification: Notification) -> dict[str, Any]:
    topic = ntfy_parts(channel.url)[1]
    return {
        "topic": topic,
        "title": notification.title,
        "message": notification.text[:MOST_TEXT],
        "click": notification.link,
    }


BODIES: Mapping[ChannelKind, Callable[[NotificationChannel, Notification], dict[str, Any]]] = {
    ChannelKind.JSON: _plain,
    ChannelKind.SLACK: _slack,
    ChannelKind.DISCORD: _discord,
    ChannelKind.NTFY: _ntfy,
}
