"""Access control of the recorder: paths, limits and token."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

MODELS_PATH = "/v1/models"
COUNT_PATH = "/v1/messages/count_tokens"
MIB = 1 << 20
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """Limits of one recording."""

    duration_s: float = 3600.0  # validity of its token, after which it ends
    requests: int = 20_000
    concurrent_requests: int = 256
    head_s: float = 10.0  # for the head of a client's request
    body_s: float = 60.0  # for its body
    body_bytes: int = 64 * MIB
    held_bytes: int = 256 * MIB  # of all bodies that arrive, are forwarded or wait to be recorded
    body_values: int = 200_000  # objects and lists of a body that is parsed; more cost a hundred times their bytes
    answer_bytes: int = 1024 * MIB
    silence_s: float = 300.0  # of the server
    answer_s: float = 3600.0
    text_bytes: int = 60 * MIB  # stored in total


@dataclass(frozen=True, slots=True)
class RecorderToken:
    """Token of one recording, valid until `expires_s` of the monotonic clock."""

    mono_s: Callable[[], float]
    expires_s: float
    value: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))

    def refusal(self, authorization: str | None, api_key: str | None = None) -> str | None:
        """Return why a client with these headers may not send; None if it may.

        authorization: 'Bearer ...', as OpenAI's clients send it. api_key: `x-api-key`, as Anthropic's do.
        """
        if self.mono_s() >= self.expires_s:
            return "The token of this recorder has expired."
        header = authorization or (f"Bearer {api_key}" if api_key else "")
        sent_bytes = header.encode(errors="surrogateescape")  # as the server decoded what is no UTF-8
        if not hmac.compare_digest(sent_bytes, f"Bearer {self.value}".encode()):
            return "This recorder requires the token that it printed when it started, as bearer token or x-api-key."
        return None
