"""Remembers the prompts of a recording, and describes each as an edit of the one that it follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.sessions.predecessor import RememberedPrompt, predecessor_of
from analysis.sessions.prompt_part import MOST_PARTS, PromptPart, encode_order, stored_part
from domain import JsonValue
from workloads.recording.prompt_parts import PromptHasher
from workloads.requests.protocols import Endpoint

MOST_REQUESTS = 256  # remembered; a session that pauses for longer begins anew
MOST_KNOWN = 100_000  # parts; beyond it their details are stored again


@dataclass(slots=True)
class PromptHistory:
    """Prompts of one recording; used by the thread that records."""

    hasher: PromptHasher = field(default_factory=PromptHasher)
    _earlier: deque[RememberedPrompt] = field(default_factory=lambda: deque(maxlen=MOST_REQUESTS))
    _known: dict[str, PromptPart] = field(default_factory=dict)

    def describe(self, request_id: str, endpoint: Endpoint, body: Mapping[str, Any]) -> dict[str, JsonValue]:
        """Return what is stored of a request's prompt (StoredPrefix as JSON), and remember it."""
        all_parts = self.hasher.parts(endpoint, body, self._known)
        parts = all_parts[:MOST_PARTS]
        digests = tuple(part.digest for part in parts)
        messages = frozenset(part.digest for part in parts if part.is_message)
        predecessor = predecessor_of(messages, self._earlier)
        session = predecessor.session if predecessor else request_id
        self._earlier.append(RememberedPrompt(request_id, session, digests, messages))
        return {
            "session": session,
            "follows": predecessor.request_id if predecessor else None,
            "order": encode_order(digests, predecessor.digests if predecessor else ()),
            "parts": {part.digest: stored_part(part) for part in self._take_new(parts)},
            "is_cut": len(all_parts) > MOST_PARTS,
        }

    def _take_new(self, parts: list[PromptPart]) -> list[PromptPart]:
        """Return the parts whose details are not stored yet, each once."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        new = {part.digest: part for part in parts if part.digest not in self._known}
        self._known |= new
        return list(new.values())
