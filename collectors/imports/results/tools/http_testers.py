"""Load testers for any HTTP server: what a reader must assume about the requests that they sent."""

from __future__ import annotations


def assumption_note(tool: str) -> str:
    """Return the note on a load of such a tool: its report does not say what its requests contained."""
    return f"{tool}'s report does not say what was requested: its requests are taken for those of a language model."
