"""An agent's connection to Pitwall: TLS or loopback, with limits; its token is never in an argument or a log."""

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

from collectors.nodes.relation import RoundTrip
from errors import PitwallError
from machine.bounded_http import Answer, BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits

LIMITS = ReadLimits(body_bytes=64 << 10, total_s=20.0)
AGAIN = {408, 429, 502, 503, 504}  # statuses that a later try may not meet
ROUTE = "/api/agent"


class AwayError(PitwallError):
    """Pitwall does not take it now; in a few words."""


class RefusedByPitwallError(PitwallError):
    """Pitwall takes nothing more of this agent, in one sentence of its own."""


class AddressError(PitwallError):
    """An address that no token is sent to, in one sentence."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What Pitwall said, and the round trip that it took."""

    number: int  # of the last batch that it has
    is_over: bool  # the run has ended
    trip: RoundTrip


def checked_address(url: str) -> str:
    """The address without its last slash. Raises AddressError unless it is https, or http of this very machine."""
    parts = _parts(url)
    if not parts or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise AddressError(f"{url} is no address of a Pitwall: say https://HOST[:PORT][/PATH].")
    if parts.username or parts.password:
        raise AddressError("An address with a name or a password in it is seen by every user of this machine.")
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise AddressError(
            f"To {parts.hostname} by http the token and all samples would go in clear: use https, or a tunnel "
            "(ssh -N -L 8501:127.0.0.1:8501 HOST) and --to http://127.0.0.1:8501."
        )
    return url.rstrip("/")


def _parts(url: str) -> SplitResult | None:
    """None for what no client could ask: a port that is none, blanks, half an IPv6 address."""
    try:
        httpx.URL(url)
        parts = urlsplit(url)
        return parts if url.isprintable() and " " not in url and parts.port != 0 else None
    except (ValueError, httpx.InvalidURL):
        return None


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name may lead anywhere tomorrow, 'localhost' too


Seconds = Annotated[float, Field(ge=0, le=2**40)]


class _Answered(BaseModel):
    """What a Pitwall that takes samples says; the times are its own, since the epoch."""

    received_s: Seconds
    returned_s: Seconds
    number: NonNegativeInt
    is_over: bool


class Link:
    """Asked by one thread at a time."""

    def __init__(self, url: str, token: str, run_id: str, agent_id: str, trusted: Path | None = None) -> None:
        """`trusted`: a file of certificates in place of the usual ones. Raises AddressError, OSError."""
        tls = ssl.create_default_context(cafile=str(trusted)) if trusted else None
        headers = {"Authorization": f"Bearer {token}"}
        self._http = BoundedHttp(checked_address(url), headers, connect_s=5.0, silence_s=15.0, tls=tls)
        self._asked = f"?run={run_id}&agent={agent_id}"

    def greet(self) -> Acknowledged:
        """A short round trip. Raises AwayError, RefusedByPitwallError."""
        sent = time.monotonic()
        return self._acknowledged(sent, self._http.get, f"{ROUTE}{self._asked}")

    def send(self, body: bytes) -> Acknowledged:
        """Have a message taken in: what it acknowledges is durable. Raises as `greet` does."""
        sent = time.monotonic()
        return self._acknowledged(
            sent, lambda path, limits: self._http.post(path, body, limits), f"{ROUTE}/batches{self._asked}"
        )

    def close(self) -> None:
        """Close the connection; a later request would open it again."""
        self._http.close()

    def _acknowledged(self, sent_mono_s: float, ask: Any, path: str) -> Acknowledged:
        try:
            answer: Answer = ask(path, LIMITS)
        except (NoAnswerError, BadAnswerError) as problem:
            raise AwayError(str(problem)) from None
        answered = time.monotonic()
        if answer.is_ok:
            said = _answered(answer)
            trip = RoundTrip(sent_mono_s, said.received_s, said.returned_s, answered)
            return Acknowledged(said.number, said.is_over, trip)
        words = _sentence(answer) or f"it answers {answer.status_code}"
        if answer.status_code in AGAIN or answer.status_code >= 500:
            raise AwayError(words)
        raise RefusedByPitwallError(words)


def _answered(answer: Answer) -> _Answered:
    try:
        return _Answered.model_validate_json(answer.content)
    except ValidationError:
        raise RefusedByPitwallError("What answers there is no Pitwall that takes samples.") from None


def _sentence(answer: Answer) -> str:
    """Why it refuses, in its own words, printable; '' where it has none."""
    try:
        said = answer.json()
    except ValueError:
        return ""
    words = str(said.get("error") or "")[:300] if isinstance(said, dict) else ""
    return "".join(one if one.isprintable() else "?" for one in words)
