"""The machines on which Pitwall may start servers by ssh; only machines that a person has added are ever contacted."""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.named_list import Kind, NamedList, Record

MOST_HOSTS = 200
TARGET = re.compile(r"(?:[A-Za-z_][\w.-]{0,63}@)?[A-Za-z0-9](?:[A-Za-z0-9.:_-]{0,252})", re.ASCII)
ADDRESS = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9.:_-]{0,252})", re.ASCII)
FOLDER = re.compile(r"[A-Za-z0-9/._][A-Za-z0-9/._+@,= -]{0,400}", re.ASCII)
NO_TARGET = "'{}' is no host that ssh can be given: HOST or USER@HOST, of letters, digits, '.', '-', '_' and ':'."
NO_ADDRESS = "'{}' is no address of a machine: a host name or an IP address, without a port."
NO_FOLDER = "'{}' cannot be used: the folder's path may hold letters, digits, spaces and / . _ + @ , = - alone."
NO_LABEL = "'{}' is no label: 1 to 40 letters, digits, '.', '_' or '-'."
NO_HOST = "There is no host {0}: `./pitwall host add {0} USER@HOST` adds it."


class HostError(PitwallError):
    """A host that cannot be added, found or reached, in one sentence that says what to mend."""


class Host(BaseModel):
    """One machine with a Pitwall checkout of its own.

    `target` is what ssh is given; `folder` the checkout over there, relative to the home folder unless absolute;
    `address` where its servers are reached from here, None: through the ssh connection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    target: str
    folder: str = "pitwall"
    address: str | None = None
    ssh_config: str | None = None  # a file for ssh -F in place of the user's own
    machine_id: str | None = None  # as it said when it was added; None: it was not asked
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


def _matching(pattern: re.Pattern[str], text: str, words: str) -> str:
    """Raises HostError, which pydantic passes on: what is refused here must never reach a command."""
    if not pattern.fullmatch(text):
        raise HostError(words.format(text))
    return text


_KIND = Kind(
    Host,
    key="hosts",
    name="label",
    most=MOST_HOSTS,
    refusal=HostError,
    none_known="No host is known",
    no_list="{} is no list of hosts.",
    too_many="{} hosts are known already.",
)


class HostBook:
    """The hosts in the data folder's hosts.json."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[Host]:
        """In the order in which they were added; none where the file is none, which is logged."""
        return self._list.all()

    def host(self, label: str) -> Host:
        """Raises HostError for a label that none has."""
        found = next((host for host in self.all() if host.label == label), None)
        if found is None:
            raise HostError(NO_HOST.format(label))
        return found

    def add(self, host: Host, by: str | None = None) -> None:
        """Keep a host, in place of one of its label; `by`: who does so, for the audit. Raises HostError, OSError."""
        self._list.keep(host, _entry("add host", host, by) if by else None)

    def remove(self, label: str, by: str | None = None) -> Host:
        """Start nothing there any more; what runs there is still followed. Raises HostError, OSError."""
        return self._list.drop(label, NO_HOST.format(label), partial(_entry, "remove host", by=by) if by else None)

    def record_audit(self, record: Record) -> None:
        """Give the store's audit what was done in a shell; raises PitwallError, OSError."""
        self._list.record_audit(record)


def _entry(action: str, host: Host, by: str) -> AuditEntry:
    return AuditEntry(utc_now(), by, action, None, f"{host.label}: {host.target}")
