"""Support of the engines for requests of next tokens after given token ids, and what the others lack."""

from __future__ import annotations

from engines import BY_NAME


def probe_refusal(engine_name: str) -> str | None:
    """Return the sentence that refuses a fidelity load on an engine; None if it can be measured."""
    engine = BY_NAME.get(engine_name)
    if engine and engine.next_token and engine.tokenizer:
        return None
    titles = ", ".join(able.title for able in BY_NAME.values() if able.next_token)
    title = engine.title if engine else "this server"
    obstacle = f": its API {engine.next_token_obstacle}" if engine and engine.next_token_obstacle else ""
    return (
        f"Fidelity needs token ids and log-probabilities, which Pitwall can request from {titles}, but not from "
        f"{title}{obstacle}."
    )
