"""Cuts texts to a length in tokens, with the server's own tokenizer where it offers one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import aiohttp
import orjson

from domain import JsonValue
from engines import BY_NAME
from engines.base import TokenizerApi
from errors import PitwallError
from load_records import LENGTH_REASON
from reasons import Code, Reason, write_reasons
from workloads.plan import Message, Phase, PlannedRequest
from workloads.requests.client import Target
from workloads.texts.natural_text import DrawnText

ANSWER_BYTES = 64 << 20
ANSWER_WITHIN_S = 30.0
SEPARATOR = "\n\n"
MOST_SAID = 100
SAMPLE = "The driver watched the brakes."


class NoTokenizerError(PitwallError):
    """The server cuts no text into tokens for us."""


@dataclass
class Fitter:
    """Fits the texts of a phase before it begins, while nothing is in flight.

    Where the server has no tokenizer to ask, texts are about as long as wanted, and the server's own count of each
    prompt's tokens is what its record says, with the reason.
    """

    session: aiohttp.ClientSession
    target: Target
    _cut: dict[DrawnText, str] = field(default_factory=dict)  # contexts, which many requests share
    _overhead: int | None = None  # tokens of the chat template, or of what a completion begins with
    _why_not: str | None = None  # the server's tokenizer was asked, and this is what it said

    async def fitted(self, phase: Phase) -> Phase:
        """The phase with every text that is known by its length cut to it."""
        if not any(request.drawn for request in phase.requests):
            return phase
        return replace(phase, requests=tuple([await self._fit(request) for request in phase.requests]))

    async def _fit(self, request: PlannedRequest) -> PlannedRequest:
        if request.drawn is None:
            return request
        try:
            return replace(request, fitted=await self._text(self._api(), request))
        except NoTokenizerError as error:
            self._why_not = str(error)
        reason = Reason(Code.LENGTH_APPROXIMATE, values={"said": self._why_not[:MOST_SAID]})
        return replace(request, facts={**request.facts, LENGTH_REASON: write_reasons([reason])})

    def _api(self) -> TokenizerApi:
        """How its tokenizer is asked; raises NoTokenizerError where it has none, or could not be asked before."""
        engine = BY_NAME.get(self.target.engine)
        if self._why_not is not None or engine is None or engine.tokenizer is None:
            raise NoTokenizerError(self._why_not or "none is known of this engine")
        return engine.tokenizer

    async def _text(self, api: TokenizerApi, request: PlannedRequest) -> str:
        assert request.drawn
        if self._overhead is None:
            self._overhead = await self._measure_overhead(api)
        if request.context is None:
            return await self._cut_to(api, request.drawn, request.drawn.tokens - self._overhead)
        if request.context not in self._cut:
            own = request.context.tokens - self._overhead
            self._cut[request.context] = await self._cut_to(api, request.context, own)
        return SEPARATOR.join(
            [self._cut[request.context], await self._cut_to(api, request.drawn, request.drawn.tokens)]
        )

    async def _cut_to(self, api: TokenizerApi, drawn: DrawnText, tokens: int) -> str:
        found = await self._tokens(api, drawn.ample())
        answer = await self._ask("/detokenize", {"tokens": list(found[: max(1, tokens)])})
        text = answer.get(api.answer_field or api.text_field)
        if not isinstance(text, str):
            raise NoTokenizerError("its answer holds no text")
        return text

    async def _tokens(self, api: TokenizerApi, text: str, **more: JsonValue) -> Sequence[JsonValue]:
        return _listed(await self._ask("/tokenize", {api.text_field: text, api.special_field: False, **more}))

    async def _measure_overhead(self, api: TokenizerApi) -> int:
        """Tokens that the server adds to a prompt's own."""
        bare = len(await self._tokens(api, SAMPLE))
        if self.target.endpoint == "completions":
            return len(await self._tokens(api, SAMPLE, **{api.special_field: True})) - bare
        messages: list[Message] = [{"role": "user", "content": SAMPLE}]
        asked: dict[str, JsonValue] = {"messages": [dict(message) for message in messages]}
        if api.template_path is None:
            return len(_listed(await self._ask("/tokenize", asked))) - bare
        shown = (await self._ask(api.template_path, asked)).get("prompt")
        return len(await self._tokens(api, str(shown), **{api.special_field: True})) - bare

    async def _ask(self, path: str, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """One question to the tokenizer; raises NoTokenizerError for any answer that is none."""
        url = self.target.base_url.rstrip("/") + path
        timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN_S)
        try:
            async with self.session.post(
                url, json={"model": self.target.model, **body}, headers=self.target.headers, timeout=timeout
            ) as response:
                data = await response.content.read(ANSWER_BYTES)
                while response.status == 200 and (more := await response.content.read(ANSWER_BYTES)):
                    data += more
                    if len(data) > ANSWER_BYTES:
                        raise NoTokenizerError("its answer is too large")
                answer = orjson.loads(data) if response.status == 200 else None
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise NoTokenizerError(str(error)) from error
        if not isinstance(answer, dict):
            raise NoTokenizerError(f"HTTP {response.status}")
        return answer


def _listed(answer: dict[str, JsonValue]) -> Sequence[JsonValue]:
    tokens = answer.get("tokens")
    if not isinstance(tokens, list):
        raise NoTokenizerError("its answer holds no tokens")
    return tokens
