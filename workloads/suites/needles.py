"""'needles': facts hidden at ten places of a long text, asked for alone and four at a time."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from analysis.loads.check_items import depth_title
from domain import JsonValue
from load_records import NEEDLES as NAME
from workloads.plan import CaseVerdict, Phase, Plan, PlannedRequest, Workload
from workloads.requests.exchange import Exchange
from workloads.suites.cases import STREAMED
from workloads.suites.depths import Depth, DepthParams
from workloads.suites.tool_faults import quoted, text_of
from workloads.texts.long_history import SeededDocument

SUITE = "needles"
PLACES = 10  # of each text
GROUPS = ((0, 3, 6, 9), (1, 4, 7, 8), (2, 4, 5, 9))  # places that are asked for together
COLOURS = "amber|crimson|ivory|jade|indigo|copper|silver|violet|ochre|teal|olive|scarlet|azure|pearl|black|white"
THINGS = "locker|trailer|toolbox|helmet|generator|container|scooter|laptop|printer|cabinet|safe|tablet|crate|umbrella"
CODE = re.compile(r"(?<!\d)(?<!\d[,.])\d{3}[ ,._-]?\d{3}(?!\d)")


class NeedleParams(DepthParams):
    """Parameters of 'needles'."""

    depth_tokens: tuple[Depth, ...] = Field(default=(2000, 8000, 32000, 64000, 100000), min_length=1, max_length=12)
    repeats: int = Field(default=5, ge=1, le=50)  # texts of each length


@dataclass(frozen=True, slots=True)
class Needle:
    """A hidden fact: the code of a thing, six digits that occur nowhere else in the text."""

    thing: str
    code: str

    @property
    def sentence(self) -> str:
        return f"The access code of the {self.thing} is {self.code}."


@dataclass(frozen=True, slots=True)
class NeedleCase:
    """A question about one or several of the hidden facts; an answer with a code that was not asked for fails."""

    name: str
    needles: tuple[Needle, ...]
    depth_tokens: int
    repeat: int
    suite: str = SUITE
    mode: str = STREAMED

    @property
    def question(self) -> str:
        if len(self.needles) == 1:
            return f"What is the access code of the {self.needles[0].thing}? Answer with the code alone."
        *first, last = (f"the {needle.thing}" for needle in self.needles)
        return f"What are the access codes of {', '.join(first)} and {last}? Answer with one line for each."

    def follow(self, exchanges: Sequence[Exchange]) -> PlannedRequest | None:
        """Return None: the case is one request."""
        return None

    def judge(self, exchanges: Sequence[Exchange], reasoning_parser: str | None) -> CaseVerdict:
        """Pass if the answer without its thinking has the requested codes, each whole, and no other."""
        text = text_of(exchanges[0])
        expected, codes = {needle.code for needle in self.needles}, codes_in(text)
        if codes == expected:
            return CaseVerdict(True)
        missing = ", ".join(needle.thing for needle in self.needles if needle.code not in codes)
        faults = [f"no right code for {missing}"] if missing else []
        faults += [f"a code that was not asked for: {code}" for code in sorted(codes - expected)[:1]]
        if exchanges[0].reading.finish_reason == "length":
            faults.append("the answer was cut at max_tokens")
        return CaseVerdict(False, f"{'; '.join(faults)}; the answer is {quoted(text)}")


def codes_in(text: str) -> set[str]:
    """Return the numbers of six digits in a text, also if a space, comma or hyphen parts them in the middle."""
    return {re.sub(r"\D", "", match[0]) for match in CODE.finditer(text)}


def build(params: NeedleParams) -> Plan:
    """Return a plan of all questions about each text, one after the other, so that its prefix stays cached."""
    return [Phase("Needles", "measure", 1, tuple(_requests(params)))]


def _requests(params: NeedleParams) -> Iterator[PlannedRequest]:
    sampling = params.sampling_for(params.max_tokens, params.temperature, ignore_eos=False)
    for tokens, number in params.histories():
        needles = draw_needles(f"{params.seed} needles {tokens} {number}")
        sentences = tuple(needle.sentence for needle in needles)
        document = SeededDocument(f"{params.seed} document {number}", tokens, sentences)
        for case in _cases(needles, tokens, number):
            yield _request(case, document, sampling)


def draw_needles(seed: str) -> list[Needle]:
    """Return PLACES facts about different things with different codes."""
    rng = random.Random(seed)
    colours, objects = rng.sample(COLOURS.split("|"), PLACES), rng.sample(THINGS.split("|"), PLACES)
    codes = rng.sample(range(100_000, 1_000_000), PLACES)
    return [Needle(f"{colour} {thing}", str(code)) for colour, thing, code in zip(colours, objects, codes, strict=True)]


def _cases(needles: Sequence[Needle], tokens: int, number: int) -> Iterator[NeedleCase]:
    for place, needle in enumerate(needles):
        yield NeedleCase(f"Fact at {100 * (2 * place + 1) // (2 * PLACES)} %", (needle,), tokens, number)
    for group, places in enumerate(GROUPS, 1):
        yield NeedleCase(f"Four facts, {group}", tuple(needles[place] for place in places), tokens, number)


def _request(case: NeedleCase, document: SeededDocument, sampling: Mapping[str, JsonValue]) -> PlannedRequest:
    return PlannedRequest(
        depth_title(case.depth_tokens),
        "",
        sampling,
        messages=({"role": "user", "content": case.question},),
        history=document,
        facts={"mode": case.mode},
        case=case,
    )


NEEDLES = Workload(
    name=NAME,
    title="Needles in a long text",
    summary="Ten facts hidden in texts of up to 100,000 tokens, asked for alone and four at a time.",
    params_type=NeedleParams,
    build=build,
    has_cases=True,
)
