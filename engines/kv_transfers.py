"""Failed transfers of KV cache between servers: one warning per request, with the reason, not one per rank."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

_MOST_REQUESTS = 4096  # whose failures are remembered: the other ranks report them at the same time
_WRAPPER = re.compile(r"KVTransferError\(bootstrap_room=\d+[^()]*\): ")
_TIME = re.compile(r"\b\d+\.\d+ ?s\b")
_MOST_REASON_CHARS = 300


class TransferFailures:
    """Reads the failures of one log; the pattern has the groups `request` and `reason`, each of which may be absent."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._requests: dict[str, None] = {}

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match of a message that reports a failed transfer."""
        return self._pattern.search(text)

    def read(self, match: re.Match[str]) -> LogFailure | None:
        """Return the warning; None if another rank has reported the request."""
        groups = match.groupdict()
        request = groups.get("request")
        if request in self._requests:
            return None
        if request is not None:
            self._remember(request)
        return LogFailure(None, match[0], f"KV transfer failed: {_reason(groups.get('reason'), request)}")

    def _remember(self, request: str) -> None:
        if len(self._requests) >= _MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]
        self._requests[request] = None


def _reason(text: str | None, request: str | None) -> str:
    """Return the reason without what differs from request to request, so that equal reasons can be counted."""
    reason = _TIME.sub("… s", _WRAPPER.sub("", text or "").strip())
    if request:
        reason = re.sub(rf"\b{re.escape(request)}\b", "…", reason)
    return reason[:_MOST_REASON_CHARS] or "the log states no reason."
