"""Requests to a server's tokenizer API: text or messages to token ids, and back; bounded in time and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiohttp
import orjson

from domain import JsonValue
from engines.base import TokenizerApi
from errors import PitwallError
from workloads.requests.client import RequestTarget

ANSWER_BYTES = 64 << 20
ANSWER_WITHIN_S = 30.0
HTTP_OK = 200


class NoTokenizerError(PitwallError):
    """The server offers no usable tokenizer."""


@dataclass(frozen=True)
class TokenizerClient:
    """The tokenizer API of one server. Every method raises NoTokenizerError without a valid answer."""

    session: aiohttp.ClientSession
    target: RequestTarget
    api: TokenizerApi

    async def token_ids(self, text: str, add_special: bool = False) -> list[int]:
        """Return the ids of a text; add_special: with the special tokens at the beginning of a prompt."""
        return _token_list(
            await self._post("/tokenize", {self.api.text_field: text, self.api.special_field: add_special})
        )

    async def chat_token_ids(self, messages: Sequence[Mapping[str, JsonValue]]) -> list[int]:
        """Return the ids of a chat in the model's own template, with the special tokens of a prompt."""
        request: dict[str, JsonValue] = {"messages": [dict(message) for message in messages]}
        if self.api.template_path is None:
            return _token_list(await self._post("/tokenize", request))
        prompt = (await self._post(self.api.template_path, request)).get("prompt")
        return await self.token_ids(str(prompt), add_special=True)

    async def text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text of these ids."""
        answer = await self._post("/detokenize", {"tokens": list(token_ids)})
        text = answer.get(self.api.answer_field or self.api.text_field)
        if not isinstance(text, str):
            raise NoTokenizerError("its answer has no text")
        return text

    async def _post(self, path: str, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        data = await read_answer(self.session, self.target, "POST", path, {"model": self.target.model, **body})
        try:
            answer = orjson.loads(data)
        except ValueError as error:
            raise NoTokenizerError(str(error)) from error
        if not isinstance(answer, dict):
            raise NoTokenizerError("its answer is no JSON object")
        return answer


async def read_answer(
    session: aiohttp.ClientSession, target: RequestTarget, method: str, path: str, body: JsonValue = None
) -> bytes:
    """Send a request to the server and return its answer; raises NoTokenizerError if there is none."""
    url = target.base_url.rstrip("/") + path
    timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN_S)
    data = bytearray()
    try:
        async with session.request(method, url, json=body, headers=target.headers, timeout=timeout) as response:
            if response.status != HTTP_OK:
                raise NoTokenizerError(f"HTTP {response.status}")
            async for piece in response.content.iter_any():
                data += piece
                if len(data) > ANSWER_BYTES:
                    raise NoTokenizerError("its answer is too large")
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise NoTokenizerError(str(error)) from error
    return bytes(data)


def _token_list(answer: Mapping[str, JsonValue]) -> list[int]:
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise NoTokenizerError("its answer has no tokens")
    return tokens
