"""Who may send through the recorder, what, and how much of it."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

POSTED = ("/v1/chat/completions", "/v1/completions")
MODELS = "/v1/models"
MIB = 1 << 20
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class Limits:
    """What one recording may take at most."""

    duration_s: float = 3600.0  # its token is good for so long, then it ends
    requests: int = 20_000
    at_once: int = 256
    head_s: float = 10.0  # for the head of a client's request
    body_s: float = 60.0  # for its body
    body_bytes: int = 64 * MIB
    answer_bytes: int = 1024 * MIB
    silence_s: float = 300.0  # of the server
    answer_s: float = 3600.0
    text_bytes: int = 60 * MIB  # kept in all


@dataclass(frozen=True, slots=True)
class Token:
    """The token of one recording, valid until `expires_s` of the clock."""

    mono_s: Callable[[], float]
    expires_s: float
    word: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))

    def refusal(self, authorization: str | None) -> str | None:
        """Why a client with this header may not send; None where it may."""
        if self.mono_s() >= self.expires_s:
            return "The token of this recorder has expired."
        given = (authorization or "").encode()
        if not hmac.compare_digest(given, f"Bearer {self.word}".encode()):
            return "This recorder takes the bearer token that it printed when it was started."
        return None
