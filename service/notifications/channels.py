"""The channels to which notifications go: webhooks, whose addresses are secrets, and commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from enum import StrEnum
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, field_validator

from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.named_list import EntryListKind, NamedList, Record
from service.notifications.notification import NotificationKind

MOST_CHANNELS = 20
MOST_URL, MOST_WORDS = 2_000, 50
NOT_AN_ADDRESS = (
    "This is not a webhook's address: use https://HOST/PATH, or http on this machine (http://127.0.0.1:PORT)."
)
IN_CLEAR = "http would send the notifications and the address itself unencrypted: use https, or http on this machine."
WITH_PASSWORD = "An address with a user name or password is not accepted: use the address that the service gives."
NO_TOPIC = "The address of an ntfy channel ends with its topic: https://ntfy.sh/TOPIC."
NO_COMMAND = f"A command has 1 to {MOST_WORDS} words, the first an absolute path of a program."
NOT_HOURS = "Quiet hours are two times such as 22:00-07:00."


class ChannelError(PitwallError):
    """A channel that cannot be added or found, in one sentence that never contains its address."""


class ChannelKind(StrEnum):
    """How a channel receives a notification."""

    JSON = "json"
    SLACK = "slack"
    DISCORD = "discord"
    NTFY = "ntfy"
    COMMAND = "command"


class QuietHours(BaseModel):
    """Times of the day, by this machine's clock and zone, between which nothing is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    begin: time
    end: time

    @field_validator("begin", "end")
    @classmethod
    def _has_no_zone(cls, value: time) -> time:
        if value.tzinfo is not None:
            raise ValueError("quiet hours are in this machine's zone")
        return value

    def include(self, moment: time) -> bool:
        """Whether this time of the day is quiet; hours may pass midnight."""
        if self.begin <= self.end:
            return self.begin <= moment < self.end
        return moment >= self.begin or moment < self.end

    def describe(self) -> str:
        """Return the hours as `parse_quiet_hours` reads them: '22:00-07:00'."""
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"


class NotificationChannel(BaseModel):
    """One receiver of notifications."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[A-Za-z0-9][\w.-]{0,39}$")
    kind: ChannelKind
    url: str = Field("", repr=False)  # a secret: whoever knows it can post there
    argv: tuple[str, ...] = Field((), repr=False)
    events: tuple[NotificationKind, ...]  # the kinds that it gets
    quiet_hours: QuietHours | None = None
    added_by: str
    added_at: datetime

    @field_validator("url")
    @classmethod
    def _can_be_split(cls, url: str) -> str:
        urlsplit(url).hostname  # noqa: B018 - ValueError if it is no address
        return url

    @property
    def masked_target(self) -> str:
        """The host of the webhook, or the program: as much as pages and logs may show."""
        return self.argv[0] if self.argv else f"{urlsplit(self.url).hostname}/..."

    def is_quiet(self, now: datetime) -> bool:
        """Whether its messages wait now; `now` with a zone."""
        return self.quiet_hours is not None and self.quiet_hours.include(now.astimezone().time())


def checked_channel(channel: NotificationChannel) -> NotificationChannel:
    """Return the channel; raises ChannelError for an address that is not contacted, or a command that cannot run."""
    if channel.kind is ChannelKind.COMMAND:
        if not 0 < len(channel.argv) <= MOST_WORDS or not Path(channel.argv[0]).is_absolute() or channel.url:
            raise ChannelError(NO_COMMAND)
        return channel
    if channel.argv:
        raise ChannelError(NOT_AN_ADDRESS)
    _check_url(channel.url)
    if channel.kind is ChannelKind.NTFY and not ntfy_parts(channel.url)[1]:
        raise ChannelError(NO_TOPIC)
    return channel


def _check_url(url: str) -> None:
    try:
        httpx.URL(url)
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) and parts.port != 0 and parts.scheme in ("http", "https") and not parts.fragment
    except (ValueError, httpx.InvalidURL):
        is_valid = False
    if not is_valid or not url.isprintable() or " " in url or len(url) > MOST_URL:
        raise ChannelError(NOT_AN_ADDRESS)
    if parts.username or parts.password:
        raise ChannelError(WITH_PASSWORD)
    # By https a name that leads to an internal service has no valid certificate; by http only this machine is reached.
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise ChannelError(IN_CLEAR)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name may resolve to another machine later


def ntfy_parts(url: str) -> tuple[str, str]:
    """Return the server's address and the topic of an ntfy channel."""
    server, _, topic = url.rstrip("/").rpartition("/")
    return (f"{server}/", topic) if urlsplit(server).hostname else (url, "")


def parse_quiet_hours(text: str) -> QuietHours | None:
    """Read '22:00-07:00'; '' is None. Raises ChannelError."""
    if not text.strip():
        return None
    try:
        begin, end = (time.fromisoformat(part.strip()) for part in text.split("-"))
    except ValueError:
        raise ChannelError(NOT_HOURS) from None
    if begin.tzinfo or end.tzinfo or begin == end:
        raise ChannelError(NOT_HOURS)
    return QuietHours(begin=begin, end=end)


def parse_kinds(words: Sequence[str]) -> tuple[NotificationKind, ...]:
    """Return the kinds of these names, all of them for none; raises ChannelError for an unknown name."""
    try:
        return tuple(dict.fromkeys(map(NotificationKind, words))) or tuple(NotificationKind)
    except ValueError:
        raise ChannelError(f"The kinds of notifications are {', '.join(NotificationKind)}.") from None


_KIND = EntryListKind(
    NotificationChannel,
    key="channels",
    name="name",
    max_entries=MOST_CHANNELS,
    refusal=ChannelError,
    unreadable_message="Nobody is notified",
    invalid_message="{} is not a list of channels.",
    too_many="There are already {} channels.",
)


class ChannelBook:
    """The channels in the data folder's notify.json, mode 0600."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[NotificationChannel]:
        """Return the channels in the order in which they were added; an invalid file is logged and gives none."""
        return self._list.all()

    def find(self, name: str) -> NotificationChannel:
        """Return the channel of this name; raises ChannelError."""
        match = next((channel for channel in self.all() if channel.name == name), None)
        if match is None:
            raise ChannelError(f"There is no channel named {name}.")
        return match

    def add(self, channel: NotificationChannel, user: str | None = None) -> None:
        """Add a channel, replacing one of the same name. user: in a shell, for the audit.

        Raises ChannelError, OSError.
        """
        self._list.keep(checked_channel(channel), _entry("add channel", channel, user) if user else None)

    def remove(self, name: str, user: str | None = None) -> NotificationChannel:
        """Remove a channel with its waiting messages. user: in a shell, for the audit. Raises ChannelError, OSError."""
        audit = partial(_entry, "remove channel", user=user) if user else None
        return self._list.drop(name, f"There is no channel named {name}.", audit)

    def record_audit(self, record: Record) -> None:
        """Copy audit entries of shell commands into the store; raises PitwallError, OSError."""
        self._list.record_audit(record)


def describe(channel: NotificationChannel) -> str:
    """Return the channel's description in the audit and in lists, without its address."""
    quiet = f", quiet {channel.quiet_hours.describe()}" if channel.quiet_hours else ""
    return f"{channel.name} ({channel.kind} at {channel.masked_target}): {', '.join(channel.events)}{quiet}"


def _entry(action: str, channel: NotificationChannel, user: str) -> AuditEntry:
    return AuditEntry(utc_now(), user, action, None, describe(channel))
