"""Result of checking a configuration on this machine or, received over ssh, on another one."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MOST_SENTENCES = 1_000
Sentence = Annotated[str, Field(max_length=4_000)]


class MachineCheckResult(BaseModel):
    """Sentences about a launch on a machine: reasons why it will fail, why it may fail, and unknowns."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    lacks: tuple[Sentence, ...] = Field(max_length=MOST_SENTENCES)
    doubts: tuple[Sentence, ...] = Field(max_length=MOST_SENTENCES)
    unknown: tuple[Sentence, ...] = Field(max_length=MOST_SENTENCES)
