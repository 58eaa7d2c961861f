"""Cuts texts to a length in tokens, with the server's own tokenizer where it offers one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import aiohttp

from engines import BY_NAME
from load_records import LENGTH_REASON
from reasons import Code, Reason, write_reasons
from workloads.natural_text import SeededText
from workloads.plan import Phase, PlannedRequest
from workloads.requests.client import RequestTarget
from workloads.texts.tokenizer_client import NoTokenizerError, TokenizerClient

SEPARATOR = "\n\n"
MAX_REASON_CHARS = 100
SAMPLE = "The driver watched the brakes."


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
            return replace(request, fitted_text=await self._fitted_text(self._client(), request))
        except NoTokenizerError as error:
            self._unavailable_reason = str(error)
        reason = Reason(Code.LENGTH_APPROXIMATE, values={"said": self._unavailable_reason[:MAX_REASON_CHARS]})
        return replace(request, facts={**request.facts, LENGTH_REASON: write_reasons([reason])})

    def _client(self) -> TokenizerClient:
        """Return the engine's tokenizer API; raises NoTokenizerError if it has none or an earlier request failed."""
        engine = BY_NAME.get(self.target.engine)
        if self._unavailable_reason is not None or engine is None or engine.tokenizer is None:
            raise NoTokenizerError(self._unavailable_reason or "this engine has no known tokenizer API")
        return TokenizerClient(self.session, self.target, engine.tokenizer)

    async def _fitted_text(self, client: TokenizerClient, request: PlannedRequest) -> str:
        assert request.seeded_prompt
        if self._overhead is None:
            self._overhead = await self._measure_overhead(client)
        if request.context is None:
            return await self._cut_to(client, request.seeded_prompt, request.seeded_prompt.tokens - self._overhead)
        if request.context not in self._cut_contexts:
            context_tokens = request.context.tokens - self._overhead
            self._cut_contexts[request.context] = await self._cut_to(client, request.context, context_tokens)
        return SEPARATOR.join(
            [
                self._cut_contexts[request.context],
                await self._cut_to(client, request.seeded_prompt, request.seeded_prompt.tokens),
            ]
        )

    async def _cut_to(self, client: TokenizerClient, seeded_text: SeededText, tokens: int) -> str:
        token_ids = await client.token_ids(seeded_text.long_text())
        return await client.text_of(token_ids[: max(1, tokens)])

    async def _measure_overhead(self, client: TokenizerClient) -> int:
        """Return the tokens that the server adds to those of a prompt."""
        bare = len(await client.token_ids(SAMPLE))
        if self.target.endpoint == "completions":
            return len(await client.token_ids(SAMPLE, add_special=True)) - bare
        return len(await client.chat_token_ids([{"role": "user", "content": SAMPLE}])) - bare
