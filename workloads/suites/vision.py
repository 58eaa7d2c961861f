"""'vision': checks a server's vision with scenes drawn by Pitwall, whose elements it must name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from workloads.plan import CaseVerdict, Message, Params, Phase, Plan, PlannedRequest, Workload
from workloads.requests.exchange import Exchange
from workloads.suites.cases import STREAMED
from workloads.suites.scene import data_uri, draw_scene
from workloads.suites.tool_faults import text_of

SUITE = "vision"
QUESTION = "What is this a picture of? List everything that you see in it, in English."
MIN_ELEMENTS = 6  # that must be named to pass
ELEMENT_PATTERNS: Mapping[str, str] = {
    "house": r"houses?|homes?|cottages?|cabins?|huts?|buildings?|barns?|dwelling",
    "door": r"doors?|doorways?|entrances?",
    "window": r"windows?|panes?",
    "tree": r"trees?|oaks?|trunks?|foliage",
    "sun": r"suns?|sunshine|sunny",
    "sky": r"sky|skies",
    "ground": r"grounds?|grass|lawns?|fields?|meadows?|yards?|land|hills?|greenery",
}


class VisionParams(Params):
    """Parameters of 'vision'."""

    endpoint: Literal["chat"] = "chat"
    scenes: int = Field(default=3, ge=1, le=50)
    max_tokens: int = Field(default=512, ge=16, le=100_000)  # per answer, including thinking
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


@dataclass(frozen=True, slots=True)
class SceneCase:
    """A scene that the model must describe."""

    name: str
    suite: str = SUITE
    mode: str = STREAMED
    depth_tokens: int | None = None
    repeat: int | None = None

    def follow(self, exchanges: Sequence[Exchange]) -> PlannedRequest | None:
        """Return None: the case is one request."""
        return None

    def judge(self, exchanges: Sequence[Exchange], reasoning_parser: str | None) -> CaseVerdict:
        """Judge by the words of the answer without its thinking."""
        missing = missing_elements(text_of(exchanges[0]))
        named_count = len(ELEMENT_PATTERNS) - len(missing)
        missing_text = f", missing: {', '.join(missing)}" if missing else ""
        return CaseVerdict(
            named_count >= MIN_ELEMENTS, f"{named_count} of {len(ELEMENT_PATTERNS)} elements named{missing_text}"
        )


def missing_elements(text: str) -> list[str]:
    """Return the elements that the text does not name."""
    return [
        name for name, pattern in ELEMENT_PATTERNS.items() if not re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


def build(params: VisionParams) -> Plan:
    """Return a plan of the scenes, one after the other, each with its own positions and colours."""
    sampling = params.sampling_for(params.max_tokens, params.temperature, ignore_eos=False)
    requests = tuple(
        PlannedRequest(
            "Scene",
            "",
            sampling,
            messages=(scene_message(f"{params.seed} scene {number}"),),
            case=SceneCase(f"Scene {number}"),
        )
        for number in range(1, params.scenes + 1)
    )
    return [Phase("Scenes", "measure", 1, requests)]


def scene_message(seed: str) -> Message:
    """Return the message that shows a scene and asks what it contains."""
    image = {"type": "image_url", "image_url": {"url": data_uri(draw_scene(seed))}}
    return {"role": "user", "content": [image, {"type": "text", "text": QUESTION}]}


VISION = Workload(
    name="vision",
    title="Vision",
    summary="Scenes drawn by Pitwall; six of seven elements must be named, and the time to first token is recorded.",
    params_type=VisionParams,
    build=build,
    has_cases=True,
)
