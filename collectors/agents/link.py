"""Connection of an agent to Pitwall: TLS or loopback, with limits; the token is never in an argument or a log."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

import httpx
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from collectors.agents.clock_offset import RoundTrip
from errors import PitwallError
from machine.bounded_http import BadAnswerError, BoundedHttp, HttpAnswer, NoAnswerError, ReadLimits

LIMITS = ReadLimits(body_bytes=64 << 10, total_s=20.0)
RETRY_STATUSES = {408, 429, 502, 503, 504}  # statuses that may pass on a later attempt
ROUTE = "/api/agent"


class AwayError(PitwallError):
    """Pitwall does not accept samples now; the message gives the reason in a few words."""


class RefusedByPitwallError(PitwallError):
    """Pitwall accepts nothing more from this agent; the message is Pitwall's own sentence."""


class AddressError(PitwallError):
    """An address to which no token is sent; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Pitwall's reply and the times of its round trip."""

    number: int  # of the last batch that Pitwall has stored
    is_over: bool  # the run has ended
    trip: RoundTrip


def checked_address(url: str) -> str:
    """Return the address without its last slash. Raises AddressError unless it is https, or http to this machine."""
    parts = _parts(url)
    if not parts or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise AddressError(f"{url} is not the address of a Pitwall: use https://HOST[:PORT][/PATH].")
    if parts.username or parts.password:
        raise AddressError("An address with a user name or password in it is visible to every user of this machine.")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise AddressError(
            f"http would send the token and all samples to {parts.hostname} unencrypted: use https, or a tunnel "
            "(ssh -N -L 8501:127.0.0.1:8501 HOST) and --to http://127.0.0.1:8501."
        )
    return url.rstrip("/")


def _parts(url: str) -> SplitResult | None:
    """Split the URL; None for one that no client could request: an invalid port, spaces, half an IPv6 address."""
    try:
        httpx.URL(url)
        parts = urlsplit(url)
        return parts if url.isprintable() and " " not in url and parts.port != 0 else None
    except (ValueError, httpx.InvalidURL):
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name, even 'localhost', may resolve to another machine later


Seconds = Annotated[float, Field(ge=0, le=2**40)]


class _Reply(BaseModel):
    """Reply of a Pitwall that accepts samples; times are by its clock, in seconds since the epoch."""

    received_s: Seconds
    returned_s: Seconds
    number: NonNegativeInt
    is_over: bool


class Link:
    """Client of one Pitwall, for one thread at a time."""

    def __init__(self, url: str, token: str, run_id: str, agent_id: str, ca_file: Path | None = None) -> None:
        """`ca_file`: certificates that replace the system's. Raises AddressError, OSError."""
        tls = ssl.create_default_context(cafile=str(ca_file)) if ca_file else None
        headers = {"Authorization": f"Bearer {token}"}
        self._http = BoundedHttp(checked_address(url), headers, connect_s=5.0, silence_s=15.0, tls=tls)
        self._query = f"?run={run_id}&agent={agent_id}"

    def greet(self) -> Acknowledgement:
        """Make a short round trip. Raises AwayError, RefusedByPitwallError."""
        sent_mono_s = time.monotonic()
        return self._exchange(sent_mono_s, self._http.get, f"{ROUTE}{self._query}")

    def send(self, body: bytes) -> Acknowledgement:
        """Send a message; acknowledged batches are stored durably. Raises as `greet` does."""
        sent_mono_s = time.monotonic()
        return self._exchange(
            sent_mono_s, lambda path, limits: self._http.post(path, body, limits), f"{ROUTE}/batches{self._query}"
        )

    def close(self) -> None:
        """Close the connection; a later request would open it again."""
        self._http.close()

    def _exchange(self, sent_mono_s: float, request: Any, path: str) -> Acknowledgement:
        try:
            answer: HttpAnswer = request(path, LIMITS)
        except (NoAnswerError, BadAnswerError) as problem:
            raise AwayError(str(problem)) from None
        answered_mono_s = time.monotonic()
        if answer.is_ok:
            reply = _parse_reply(answer)
            trip = RoundTrip(sent_mono_s, reply.received_s, reply.returned_s, answered_mono_s)
            return Acknowledgement(reply.number, reply.is_over, trip)
        reason = _refusal_text(answer) or f"HTTP status {answer.status_code}"
        if answer.status_code in RETRY_STATUSES or answer.status_code >= 500:
            raise AwayError(reason)
        raise RefusedByPitwallError(reason)


def _parse_reply(answer: HttpAnswer) -> _Reply:
    try:
        return _Reply.model_validate_json(answer.content)
    except ValidationError:
        raise RefusedByPitwallError("The server at that address is not a Pitwall that accepts samples.") from None


def _refusal_text(answer: HttpAnswer) -> str:
    """Return Pitwall's own reason for a refusal, printable; '' if the reply has none."""
    try:
        body = answer.json()
    except ValueError:
        return ""
    text = str(body.get("error") or "")[:300] if isinstance(body, dict) else ""
    return "".join(char if char.isprintable() else "?" for char in text)
