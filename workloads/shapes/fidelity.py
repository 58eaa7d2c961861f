"""'fidelity': what a server answers after fixed prefixes, to be compared with what another configuration answers.

The positions of a text are requested from the last to the first: each prefix is then a part of the one before, so that
the server computes only its last token, and reads everything else from its KV cache as in decoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from load_records import FIDELITY as NAME
from load_records import GREEDY, NEXT_TOKEN
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.reference_text import SHALLOW_DEPTH, ReferenceText
from workloads.requests.token_probe import WARM, TokenProbe
from workloads.texts.reference_texts import own_texts, shipped_texts

CONTEXT_SEED = "fidelity"
FIRST_SHARE = 0.4  # of a text that is before its first position
MAX_DEPTH = 1_000_000


class FidelityParams(Params):
    """Parameters of 'fidelity'. No sampling applies; the seed is that of the words before the texts."""

    texts: int = Field(default=40, ge=4, le=200)
    positions: int = Field(default=8, ge=1, le=64)  # per text and depth
    depths: tuple[int, ...] = Field(default=(SHALLOW_DEPTH, 8000, 32_000, 100_000), min_length=1, max_length=8)
    greedy_tokens: int = Field(default=64, ge=0, le=512)  # per text, at one of the depths; 0: none
    file: str = Field(default="", max_length=4096)  # replaces the texts; on Pitwall's machine


def build(params: FidelityParams) -> Plan:
    """Return one phase per depth, the lowest first; raises PlanError for a bad file."""
    texts = (own_texts(params.file) if params.file else shipped_texts())[: params.texts]
    depths = sorted({max(SHALLOW_DEPTH, min(MAX_DEPTH, depth)) for depth in params.depths})
    return [
        Phase(f"Depth {depth:,}", "probe", 1, tuple(_requests(params, texts, depths, index)))
        for index, depth in enumerate(depths)
    ]


def _requests(
    params: FidelityParams, texts: Sequence[ReferenceText], depths: Sequence[int], index: int
) -> Iterator[PlannedRequest]:
    depth, seed = depths[index], f"{CONTEXT_SEED} {params.seed}"
    shares = [1 - (1 - FIRST_SHARE) * step / params.positions for step in range(params.positions)]
    for number, text in enumerate(texts):
        yield _request(TokenProbe(WARM, text, depth, shares[0], seed))
        if params.greedy_tokens and number % len(depths) == index:  # every text once, every depth as often
            yield _request(TokenProbe(GREEDY, text, depth, shares[0], seed, params.greedy_tokens))
        for share in shares:
            yield _request(TokenProbe(NEXT_TOKEN, text, depth, share, seed))


def _request(probe: TokenProbe) -> PlannedRequest:
    return PlannedRequest(
        f"{probe.part} at {probe.depth_tokens}",
        "",
        {"max_tokens": probe.max_tokens, "ignore_eos": True},
        facts={"depth_tokens": probe.depth_tokens},
        is_streamed=False,
        probe=probe,
    )


FIDELITY = Workload(
    name=NAME,
    title="Fidelity: same answers?",
    summary="The 20 most likely next tokens at positions of 40 fixed texts, and 64 greedy tokens after each. Compare "
    "them with another configuration's to see whether it answers the same. It measures no speed.",
    params_type=FidelityParams,
    build=build,
    has_probes=True,
)
