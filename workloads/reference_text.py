"""A text whose next tokens a fidelity load requests."""

from __future__ import annotations

import hashlib
import json

from pydantic import BaseModel, ConfigDict, Field

from domain import JsonValue

SHALLOW_DEPTH = 512  # at which nothing precedes a text; at a greater depth, so many words less do
MAX_TEXT_TOKENS = 640  # of each text: a longer one is cut


class ReferenceText(BaseModel):
    """A text, or a dialogue that the model's own chat template turns into one."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    kind: str
    text: str = ""
    messages: tuple[dict[str, JsonValue], ...] = Field(default=())

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    @property
    def digest(self) -> str:
        """16 hex digits over its content."""
        content = json.dumps([self.kind, self.text, list(self.messages)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]
