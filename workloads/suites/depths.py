"""Parameters and names that the suites at several context depths share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from workloads.plan import Params

Depth = Annotated[int, Field(ge=0, le=1_000_000)]


class DepthParams(Params):
    """Parameters of a suite that is tried after histories of several lengths."""

    endpoint: Literal["chat"] = "chat"
    depth_tokens: tuple[Depth, ...] = Field(default=(0, 8000, 32000, 64000, 100000), min_length=1, max_length=12)
    repeats: int = Field(default=6, ge=1, le=50)  # histories of each length, each with its own text
    max_tokens: int = Field(default=1024, ge=16, le=100_000)  # per answer, including thinking
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)

    def histories(self) -> list[tuple[int, int]]:
        """Return (tokens, number from 1) of each history.

        Lengths of one number follow each other, the shortest first: a longer dialogue begins with the shorter one, so
        the server's prefix cache has most of it, and a load that is cancelled has every length.
        """
        return [(tokens, n) for n in range(1, self.repeats + 1) for tokens in sorted(set(self.depth_tokens))]
