"""Notes on reading a paste: left out, repaired and unresolved parts, and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

from errors import PitwallError


class PasteRefusedError(PitwallError):
    """A paste cannot be read; the message is one sentence for the user."""


@dataclass
class Notes:
    """The notes in the order found, without duplicates."""

    left_out: list[str] = field(default_factory=list)  # commands and lines that do not belong to the server
    repaired: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)  # '$PORT', '<model>': for the user to fill in
    warnings: list[str] = field(default_factory=list)
    launcher_flags: list[str] = field(default_factory=list)  # of the wrapper or the container runtime

    @staticmethod
    def add(kind: list[str], text: str) -> None:
        """Append the text to one of these lists, unless it is already there."""
        if text not in kind:
            kind.append(text)

    def take(self, other: Notes) -> None:
        """Take over what other notes say of a command."""
        for kind in ("left_out", "repaired", "unresolved", "warnings"):
            for text in getattr(other, kind):
                self.add(getattr(self, kind), text)
