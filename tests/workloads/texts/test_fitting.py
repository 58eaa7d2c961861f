"""Prompts of an exact length: what each engine's /tokenize and /detokenize are asked, and what is said without them.

FAKE: the servers here speak as the engines do, and take each word for a token.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from load_records import LENGTH_REASON
from web.words import reasons_text
from workloads.natural_text import SeededText
from workloads.plan import Endpoint, Phase, PlannedRequest
from workloads.requests.client import RequestTarget
from workloads.texts.fitting import Fitter

TEMPLATE = ["<user>", "<assistant>"]
WANTED = 40
KNOWN: list[str] = []  # a word's token is its place here


def tokens_of(text: str) -> list[int]:
    words = re.findall(r"\s*\S+", text)
    KNOWN.extend(word for word in words if word not in KNOWN)
    return [KNOWN.index(word) for word in words]


def text_of(tokens: list[int]) -> str:
    return "".join(KNOWN[token] for token in tokens)


def app(answer_field: str, takes_chats: bool = True) -> web.Application:
    """/tokenize of prompts, and of chats; /detokenize with this field in its answer."""

    async def tokenize(request: web.Request) -> web.Response:
        body: dict[str, Any] = await request.json()
        if "messages" in body and not takes_chats:
            return web.json_response({"message": "Field required: prompt"}, status=400)
        if "messages" in body:
            text = "".join(message["content"] for message in body["messages"])
            return web.json_response({"tokens": [*tokens_of(" ".join(TEMPLATE)), *tokens_of(text)]})
        begin = tokens_of("<s>") if body["add_special_tokens"] else []
        return web.json_response({"tokens": [*begin, *tokens_of(body["prompt"])], "count": 0, "max_model_len": 9})

    async def detokenize(request: web.Request) -> web.Response:
        return web.json_response({answer_field: text_of((await request.json())["tokens"])})

    application = web.Application()
    application.add_routes([web.post("/tokenize", tokenize), web.post("/detokenize", detokenize)])
    return application


def fitted(engine: str, served: web.Application, endpoint: Endpoint = "chat") -> PlannedRequest:
    request = PlannedRequest("c", "", {"max_tokens": 8}, seeded_prompt=SeededText("seed", WANTED))
    phase = Phase("p", "measure", 1, (request,))

    async def fit() -> PlannedRequest:
        async with TestServer(served) as server, aiohttp.ClientSession() as session:
            url = str(server.make_url("/"))
            target = RequestTarget(
                run_id="r", base_url=url, model="m", engine=engine, workload="grid", endpoint=endpoint
            )
            return (await Fitter(session, target).fit(phase)).requests[0]

    return asyncio.run(fit())


@pytest.mark.parametrize(("engine", "field"), [("vllm", "prompt"), ("sglang", "text")])
@pytest.mark.parametrize(("endpoint", "number"), [("chat", 2), ("completions", 1)])
def test_prompt_has_wanted_tokens_with_overhead(engine: str, field: str, endpoint: Endpoint, number: int) -> None:
    request = fitted(engine, app(field), endpoint)
    assert len(tokens_of(request.text)) + number == WANTED
    assert LENGTH_REASON not in request.facts


@pytest.mark.parametrize(
    ("engine", "served", "said"),
    [
        ("sglang", web.Application, "HTTP 404"),  # before 0.5.3
        ("sglang", lambda: app("text", takes_chats=False), "HTTP 400"),
        ("sglang", lambda: app("prompt"), "its answer has no text"),
        ("other", web.Application, "this engine has no known tokenizer API"),
    ],
)
def test_without_tokenizer_text_stays_with_reason(
    engine: str, served: Callable[[], web.Application], said: str
) -> None:
    request = fitted(engine, served())
    assert request.fitted_text is None and request.text
    why = reasons_text(str(request.facts[LENGTH_REASON]))
    assert why == f"prompt lengths are approximate, without a tokenizer: {said}"
