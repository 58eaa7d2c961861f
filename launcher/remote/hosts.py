"""Hosts on which Pitwall may start servers over ssh; only machines that a person has added are ever contacted."""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.named_list import EntryListKind, NamedList, Record

MOST_HOSTS = 200
TARGET = re.compile(r"(?:[A-Za-z_][\w.-]{0,63}@)?[A-Za-z0-9](?:[A-Za-z0-9.:_-]{0,252})", re.ASCII)
ADDRESS = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9.:_-]{0,252})", re.ASCII)
FOLDER = re.compile(r"[A-Za-z0-9/._][A-Za-z0-9/._+@,= -]{0,400}", re.ASCII)
NO_TARGET = "'{}' is not a valid ssh host: use HOST or USER@HOST with letters, digits, '.', '-', '_' and ':'."
NO_ADDRESS = "'{}' is not a machine's address: use a host name or an IP address, without a port."
NO_FOLDER = "'{}' cannot be used: the folder's path may contain only letters, digits, spaces and / . _ + @ , = -"
NO_LABEL = "'{}' is not a label: use 1 to 40 letters, digits, '.', '_' or '-'."
NO_HOST = "There is no host {0}: `./pitwall host add {0} USER@HOST` adds it."


class HostError(PitwallError):
    """A host cannot be added, found or reached; the message says in one sentence what to fix."""


class Host(BaseModel):
    """One machine with a Pitwall checkout of its own.

    `target` is the ssh destination; `folder` the checkout there, relative to the home folder unless absolute; `address`
    the name by which this machine reaches its servers, None: through the ssh connection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    target: str
    folder: str = "pitwall"
    address: str | None = None
    ssh_config: str | None = None  # file for ssh -F instead of the user's own
    machine_id: str | None = None  # as reported when it was added; None: it was not queried
    added_by: str = ""
    added_at: datetime | None = None

    @field_validator("label")
    @classmethod
    def _label(cls, text: str) -> str:
        return _matching(re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII), text, NO_LABEL)

    @field_validator("target")
    @classmethod
    def _target(cls, text: str) -> str:
        return _matching(TARGET, text, NO_TARGET)

    @field_validator("folder")
    @classmethod
    def _folder(cls, text: str) -> str:
        return _matching(FOLDER, text, NO_FOLDER)

    @field_validator("address")
    @classmethod
    def _address(cls, text: str | None) -> str | None:
        return None if text is None else _matching(ADDRESS, text, NO_ADDRESS)


def _matching(pattern: re.Pattern[str], text: str, refusal: str) -> str:
    """Return the text if it matches; raises HostError, which pydantic passes on. Other text must never reach ssh."""
    if not pattern.fullmatch(text):
        raise HostError(refusal.format(text))
    return text


_KIND = EntryListKind(
    Host,
    key="hosts",
    name="label",
    max_entries=MOST_HOSTS,
    refusal=HostError,
    unreadable_message="No host is known",
    invalid_message="{} is not a list of hosts.",
    too_many="There are already {} hosts.",
)


class HostBook:
    """The hosts in the data folder's hosts.json."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[Host]:
        """Return the hosts in the order in which they were added; an invalid file is logged and gives none."""
        return self._list.all()

    def find(self, label: str) -> Host:
        """Return the host with this label; raises HostError if there is none."""
        match = next((host for host in self.all() if host.label == label), None)
        if match is None:
            raise HostError(NO_HOST.format(label))
        return match

    def add(self, host: Host, user: str | None = None) -> None:
        """Add a host, replacing one with the same label. user: for the audit. Raises HostError, OSError."""
        self._list.keep(host, _entry("add host", host, user) if user else None)

    def remove(self, label: str, user: str | None = None) -> Host:
        """Remove a host; its running servers are still followed. user: for the audit. Raises HostError, OSError."""
        return self._list.drop(
            label, NO_HOST.format(label), partial(_entry, "remove host", user=user) if user else None
        )

    def record_audit(self, record: Record) -> None:
        """Copy audit entries of shell commands into the store; raises PitwallError, OSError."""
        self._list.record_audit(record)


def _entry(action: str, host: Host, user: str) -> AuditEntry:
    return AuditEntry(utc_now(), user, action, None, f"{host.label}: {host.target}")
