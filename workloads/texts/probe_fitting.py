"""Turns the probes of a phase into token ids, with the server's own tokenizer and chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import aiohttp

from engines import BY_NAME
from engines.base import TokenizerApi
from engines.next_token import NextTokenApi
from errors import PitwallError
from workloads.natural_text import SeededText
from workloads.plan import Phase
from workloads.probe_support import probe_refusal
from workloads.reference_text import MAX_TEXT_TOKENS, SHALLOW_DEPTH, ReferenceText
from workloads.requests.client import RequestTarget
from workloads.requests.token_probe import TokenPrefix, TokenProbe
from workloads.texts.fitting import SAMPLE
from workloads.texts.tokenizer_client import NoTokenizerError, TokenizerClient, read_answer

LEAST_TEXT_TOKENS = 32
SPARE_TOKENS = 8  # between a request and the end of the context


class ProbeRefusedError(PitwallError):
    """The server cannot be asked for next tokens; the message is one sentence."""


def probe_apis(engine_name: str) -> tuple[NextTokenApi, TokenizerApi]:
    """Return the engine's APIs for next tokens and tokenizing; raises ProbeRefusedError if it lacks them."""
    if refusal := probe_refusal(engine_name):
        raise ProbeRefusedError(refusal)
    engine = BY_NAME[engine_name]
    assert engine.next_token and engine.tokenizer
    return engine.next_token, engine.tokenizer


@dataclass
class ProbeFitter:
    """Fits the probes of a phase before it begins; those that exceed the context length are left out."""

    session: aiohttp.ClientSession
    target: RequestTarget
    _text_ids: dict[str, list[int]] = field(default_factory=dict)  # by the text's digest
    _context_ids: list[int] = field(default_factory=list)  # of the greatest depth so far
    _head_ids: list[int] | None = None  # that the tokenizer puts before every prompt
    _context_limit: int | None = None

    async def fit(self, phase: Phase) -> Phase:
        """Return the phase with every probe that fits; raises ProbeRefusedError if the server lacks the APIs."""
        probed = [(request, request.probe) for request in phase.requests if request.probe]
        if not probed:
            return phase
        api, tokenizer = probe_apis(self.target.engine)
        client = TokenizerClient(self.session, self.target, tokenizer)
        try:
            if self._context_limit is None:
                data = await read_answer(self.session, self.target, "GET", api.CONTEXT_PATH)
                self._context_limit = api.parse_context(data)
            fitted = [(request, await self._fit_probe(client, probe)) for request, probe in probed]
        except NoTokenizerError as error:
            raise ProbeRefusedError(f"The server's tokenizer cannot be used: {error}.") from error
        return replace(phase, requests=tuple(replace(request, probe=probe) for request, probe in fitted if probe))

    async def _fit_probe(self, client: TokenizerClient, probe: TokenProbe) -> TokenProbe | None:
        """Return the probe with its prefix; None if it does not fit."""
        text_ids = await self._ids_of(client, probe.text)
        context_ids = await self._context_of(client, SeededText(probe.context_seed, probe.depth_tokens - SHALLOW_DEPTH))
        needed_tokens = len(context_ids) + len(text_ids) + probe.max_tokens + SPARE_TOKENS
        if len(text_ids) < LEAST_TEXT_TOKENS or (self._context_limit and needed_tokens > self._context_limit):
            return None
        text_tokens = min(len(text_ids) - 1, round(len(text_ids) * probe.text_share))
        return replace(probe, prefix=TokenPrefix(context_ids, text_ids, text_tokens))

    async def _ids_of(self, client: TokenizerClient, text: ReferenceText) -> list[int]:
        if text.digest not in self._text_ids:
            self._text_ids[text.digest] = (await self._tokenize(client, text))[:MAX_TEXT_TOKENS]
        return self._text_ids[text.digest]

    async def _tokenize(self, client: TokenizerClient, text: ReferenceText) -> list[int]:
        """Return the ids of a text without the head of a prompt, which the context before it has."""
        if not text.messages:
            return await client.token_ids(text.text)
        token_ids, head = await client.chat_token_ids(text.messages), await self._head(client)
        return token_ids[len(head) :] if token_ids[: len(head)] == head else token_ids

    async def _head(self, client: TokenizerClient) -> list[int]:
        """Return the special tokens at the beginning of a prompt."""
        if self._head_ids is None:
            bare, with_head = await client.token_ids(SAMPLE), await client.token_ids(SAMPLE, add_special=True)
            added_tokens = max(0, len(with_head) - len(bare))
            self._head_ids = with_head[:added_tokens] if with_head[added_tokens:] == bare else []
        return self._head_ids

    async def _context_of(self, client: TokenizerClient, words: SeededText) -> Sequence[int]:
        """Return the ids before a text; those of a greater depth begin with those of a lower one."""
        head = await self._head(client)
        if words.tokens <= 0:
            return head
        if len(self._context_ids) < words.tokens:
            self._context_ids = (await client.token_ids(words.long_text()))[: words.tokens]
        return [*head, *self._context_ids[: words.tokens]]
