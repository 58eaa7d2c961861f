"""'vision': checks a server's vision: it is shown scenes that Pitwall draws and must name their elements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from workloads.plan import Message, Params, Phase, Plan, PlannedRequest, Verdict, Workload
from workloads.requests.exchange import Exchange
from workloads.suites.cases import STREAMED
from workloads.suites.scene import data_uri, draw_scene
from workloads.suites.tool_faults import text_of

SUITE = "vision"
QUESTION = "What is this a picture of? List everything that you see in it, in English."
FEWEST = 6  # elements that must be named
WORDS: Mapping[str, str] = {
    "house": r"houses?|homes?|cottages?|cabins?|huts?|buildings?|barns?|dwelling",
    "door": r"doors?|doorways?|entrances?",
    "window": r"windows?|panes?",
    "tree": r"trees?|oaks?|trunks?|foliage",
    "sun": r"suns?|sunshine|sunny",
    "sky": r"sky|skies",
    "ground": r"grounds?|grass|lawns?|fields?|meadows?|yards?|land|hills?|greenery",
}


class VisionParams(Params):
    """What can be set of 'vision'."""

    endpoint: Literal["chat"] = "chat"
    scenes: int = Field(default=3, ge=1, le=50)
    max_tokens: int = Field(default=512, ge=16, le=100_000)  # of an answer, its thinking among them
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


@dataclass(frozen=True, slots=True)
class SceneCase:
    """One scene that is to be described."""

    name: str
    suite: str = SUITE
    mode: str = STREAMED

    def follow(self, went: Sequence[Exchange]) -> PlannedRequest | None:
        """None: the case is one request."""
        return None

    def judge(self, went: Sequence[Exchange], reasoning_parser: str | None) -> Verdict:
        """By the words of the answer, its thinking aside."""
        missing = forgotten(text_of(went[0]))
        named = len(WORDS) - len(missing)
        lacks = f", not: {', '.join(missing)}" if missing else ""
        return Verdict(named >= FEWEST, f"{named} of {len(WORDS)} elements told{lacks}")


def forgotten(text: str) -> list[str]:
    """The elements that no word of the text names."""
    return [name for name, words in WORDS.items() if not re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)]


def build(params: VisionParams) -> Plan:
    """The scenes one after the other, each of its own places and colours."""
    sampling = params.sampled(params.max_tokens, params.temperature, ignore_eos=False)
    requests = tuple(
        PlannedRequest(
            "Scene", "", sampling, messages=(shown(f"{params.seed} scene {number}"),), case=SceneCase(f"Scene {number}")
        )
        for number in range(1, params.scenes + 1)
    )
    return [Phase("Scenes", "measure", 1, requests)]


def shown(seed: str) -> Message:
    """The message that shows a scene and asks for what is in it."""
    image = {"type": "image_url", "image_url": {"url": data_uri(draw_scene(seed))}}
    return {"role": "user", "content": [image, {"type": "text", "text": QUESTION}]}


VISION = Workload(
    name="vision",
    title="Vision: what it sees",
    summary="Scenes drawn by Pitwall; six of seven elements must be told, and the time to the first token is kept.",
    params_type=VisionParams,
    build=build,
    has_cases=True,
)
