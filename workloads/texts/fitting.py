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
from workloads.natural_text import SeededText
from workloads.plan import Message, Phase, PlannedRequest
from workloads.requests.client import RequestTarget

ANSWER_BYTES = 64 << 20
ANSWER_WITHIN_S = 30.0
SEPARATOR = "\n\n"
MAX_REASON_CHARS = 100
SAMPLE = "The driver watched the brakes."


class NoTokenizerError(PitwallError):
    """The server offers no usable tokenizer."""


@dataclass
class Fitter:
    """Fits the texts of a phase before it begins, while nothing is in flight.

    Without a tokenizer API texts have approximately the wanted length; the record then has the server's own count of
    the prompt's tokens, and the reason.
    """

    session: aiohttp.ClientSession
    target: RequestTarget
    _cut_contexts: dict[SeededText, str] = field(default_factory=dict)  # many requests share a context
    _overhead: int | None = None  # tokens that the chat template or the start of a completion adds
    _unavailable_reason: str | None = None  # set once the server's tokenizer has failed

    async def fit(self, phase: Phase) -> Phase:
        """Return the phase with every seeded text cut to its length."""
        if not any(request.seeded_prompt for request in phase.requests):
            return phase
        return replace(phase, requests=tuple([await self._fit_request(request) for request in phase.requests]))

    async def _fit_request(self, request: PlannedRequest) -> PlannedRequest:
        if request.seeded_prompt is None:
            return request
        try:
            return replace(request, fitted_text=await self._fitted_text(self._api(), request))
        except NoTokenizerError as error:
            self._unavailable_reason = str(error)
        reason = Reason(Code.LENGTH_APPROXIMATE, values={"said": self._unavailable_reason[:MAX_REASON_CHARS]})
        return replace(request, facts={**request.facts, LENGTH_REASON: write_reasons([reason])})

    def _api(self) -> TokenizerApi:
        """Return the engine's tokenizer API; raises NoTokenizerError if it has none or an earlier request failed."""
        engine = BY_NAME.get(self.target.engine)
        if self._unavailable_reason is not None or engine is None or engine.tokenizer is None:
            raise NoTokenizerError(self._unavailable_reason or "this engine has no known tokenizer API")
        return engine.tokenizer

    async def _fitted_text(self, api: TokenizerApi, request: PlannedRequest) -> str:
        assert request.seeded_prompt
        if self._overhead is None:
            self._overhead = await self._measure_overhead(api)
        if request.context is None:
            return await self._cut_to(api, request.seeded_prompt, request.seeded_prompt.tokens - self._overhead)
        if request.context not in self._cut_contexts:
            context_tokens = request.context.tokens - self._overhead
            self._cut_contexts[request.context] = await self._cut_to(api, request.context, context_tokens)
        return SEPARATOR.join(
            [
                self._cut_contexts[request.context],
                await self._cut_to(api, request.seeded_prompt, request.seeded_prompt.tokens),
            ]
        )

    async def _cut_to(self, api: TokenizerApi, seeded_text: SeededText, tokens: int) -> str:
        token_ids = await self._tokens(api, seeded_text.long_text())
        answer = await self._post("/detokenize", {"tokens": list(token_ids[: max(1, tokens)])})
        text = answer.get(api.answer_field or api.text_field)
        if not isinstance(text, str):
            raise NoTokenizerError("its answer has no text")
        return text

    async def _tokens(self, api: TokenizerApi, text: str, **extra_fields: JsonValue) -> Sequence[JsonValue]:
        return _token_list(
            await self._post("/tokenize", {api.text_field: text, api.special_field: False, **extra_fields})
        )

    async def _measure_overhead(self, api: TokenizerApi) -> int:
        """Return the tokens that the server adds to those of a prompt."""
        bare = len(await self._tokens(api, SAMPLE))
        if self.target.endpoint == "completions":
            return len(await self._tokens(api, SAMPLE, **{api.special_field: True})) - bare
        messages: list[Message] = [{"role": "user", "content": SAMPLE}]
        request: dict[str, JsonValue] = {"messages": [dict(message) for message in messages]}
        if api.template_path is None:
            return len(_token_list(await self._post("/tokenize", request))) - bare
        prompt = (await self._post(api.template_path, request)).get("prompt")
        return len(await self._tokens(api, str(prompt), **{api.special_field: True})) - bare

    async def _post(self, path: str, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Send a request to the tokenizer API; raises NoTokenizerError without a valid answer."""
        url = self.target.base_url.rstrip("/") + path
        timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN_S)
        try:
            async with self.session.post(
                url, json={"model": self.target.model, **body}, headers=self.target.headers, timeout=timeout
            ) as response:
                data = await response.content.read(ANSWER_BYTES)
                while response.status == 200 and (chunk := await response.content.read(ANSWER_BYTES)):
                    data += chunk
                    if len(data) > ANSWER_BYTES:
                        raise NoTokenizerError("its answer is too large")
                answer = orjson.loads(data) if response.status == 200 else None
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise NoTokenizerError(str(error)) from error
        if not isinstance(answer, dict):
            raise NoTokenizerError(f"HTTP {response.status}")
        return answer


def _token_list(answer: dict[str, JsonValue]) -> Sequence[JsonValue]:
    tokens = answer.get("tokens")
    if not isinstance(tokens, list):
        raise NoTokenizerError("its answer has no tokens")
    return tokens
