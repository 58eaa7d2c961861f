"""The notes that accompany a reading: what was left out, repaired or not resolved, and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

from errors import PitwallError


class PasteRefusedError(PitwallError):
    """The paste cannot be read; the message is one sentence for the user."""


@dataclass
class Notes:
    """Everything found on the way, in the order it was found, each once."""

    left_out: list[str] = field(default_factory=list)  # commands and lines that are not the server's
    repaired: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)  # '$PORT', '<model>': to be filled in
    warnings: list[str] = field(default_factory=list)
    launcher_flags: list[str] = field(default_factory=list)  # of the wrapper or the container runtime

    @staticmethod
    def add(kind: list[str], text: str) -> None:
        """Append the text to one of these lists, unless that list has it already."""
        if text not in kind:
            kind.append(text)
