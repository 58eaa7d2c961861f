"""Texts whose next tokens a fidelity load requests: forty written for Pitwall, or those of the user's file."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from workloads.reference_text import ReferenceText
from workloads.texts.prompt_file import PlanError, read_prompts

SHIPPED = Path(__file__).parent / "fidelity_texts.jsonl"
KINDS = ("prose", "code", "json", "dialogue")
OWN_KIND = "own"
MAX_OWN_TEXTS = 200
LEAST_CHARACTERS = 400  # of an own text: a shorter one has no depth


@lru_cache(maxsize=1)
def shipped_texts() -> tuple[ReferenceText, ...]:
    """Return the shipped texts, ten of each kind, in an order that takes the kinds in turn."""
    lines = SHIPPED.read_text().splitlines()
    texts = [ReferenceText.model_validate_json(line) for line in lines]
    by_kind = [[text for text in texts if text.kind == kind] for kind in KINDS]
    return tuple(text for row in zip(*by_kind, strict=True) for text in row)


def own_texts(path: str) -> tuple[ReferenceText, ...]:
    """Return the texts of a file of prompts; raises PlanError for a bad file, or one without a text of some length."""
    texts = tuple(
        ReferenceText(name=f"own {number:03d}", kind=OWN_KIND, text=prompt.prompt, messages=tuple(prompt.messages))
        for number, prompt in enumerate(read_prompts(path), 1)
        if len(prompt.prompt) + len(json.dumps(prompt.messages)) >= LEAST_CHARACTERS
    )
    if not texts:
        raise PlanError(f"{Path(path).name} has no text of at least {LEAST_CHARACTERS} characters on one line.")
    return texts[:MAX_OWN_TEXTS]
