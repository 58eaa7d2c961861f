"""The engine that serves at an address. The answers are those of real servers, given by the FAKE server of
conftest.py; the real llama.cpp server is asked in test_real_server.py."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from collectors.endpoints.identify import NotServingError, identify, normal_base_url

Answers = dict[str, tuple[int, bytes]]


def models(owner: str, **more: object) -> tuple[int, bytes]:
    return 200, json.dumps({"object": "list", "data": [{"id": "tiny", "owned_by": owner, **more}]}).encode()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (
            {
                "/v1/models": models("vllm", max_model_len=2048),
                "/version": (200, b'{"version":"0.32.0"}'),
                "/metrics": (200, b"# HELP vllm:x y\n"),
            },
            ("vllm", "0.32.0", 2048, True, False),
        ),
        (
            {"/v1/models": models("sglang", max_model_len=4096), "/server_info": (200, b'{"version":"0.5.23"}')},
            ("sglang", "0.5.23", 4096, False, False),
        ),
        (
            {"/v1/models": models("me"), "/get_server_info": (200, b'{"version":"0.4.6"}')},
            ("sglang", "0.4.6", None, False, False),
        ),
        (
            {
                "/v1/models": models("llamacpp", meta={"n_ctx": 4096}),
                "/props": (200, b'{"build_info":"b0-0c1e57098"}'),
                "/slots": (200, b"[]"),
                "/metrics": (501, b"{}"),
            },
            ("llamacpp", "b0-0c1e57098", 4096, False, True),
        ),
        ({"/v1/models": models("someone")}, ("other", None, None, False, False)),
    ],
    ids=["vLLM", "SGLang", "older SGLang under another name", "llama.cpp without metrics", "another server"],
)
def test_engines_are_told_apart(server: Any, answers: Answers, expected: tuple[object, ...]) -> None:
    server.answers = answers
    identity = identify(server.url + "/v1/")
    assert (
        identity.engine,
        identity.version,
        identity.max_model_len,
        identity.has_metrics,
        identity.has_slots,
    ) == expected
    assert (identity.base_url, identity.models) == (server.url, ("tiny",))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({}, "is not an OpenAI-compatible server: /v1/models returned 404"),
        ({"/v1/models": (200, b"<html>hello</html>")}, "is not an OpenAI-compatible server: .* no list of models"),
        ({"/v1/models": (401, b"")}, "requires an API key"),
        ({"/v1/models": (503, b"")}, "is not ready yet"),
    ],
)
def test_what_is_no_server_is_one_sentence(server: Any, answers: Answers, said: str) -> None:
    server.answers = answers
    with pytest.raises(NotServingError, match=rf"^http://127.0.0.1:\d+ {said}"):
        identify(server.url)


def test_nobody_there() -> None:
    with pytest.raises(NotServingError, match=r"^no answer from http://127.0.0.1:9: .*refused"):
        identify("127.0.0.1:9")


def test_nobody_in_time() -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(NotServingError, match=r"^no answer in time from "):
        identify(f"127.0.0.1:{silent.getsockname()[1]}", silence_s=0.2)


@pytest.mark.parametrize(
    ("typed", "base"),
    [
        ("localhost:8000", "http://localhost:8000"),
        (" https://gpu.example/llm/v1/chat/completions ", "https://gpu.example/llm"),
        ("http://[::1]:30000/v1/models", "http://[::1]:30000"),
    ],
)
def test_addresses_as_people_paste_them(typed: str, base: str) -> None:
    assert normal_base_url(typed) == base


@pytest.mark.parametrize("typed", ["", "ftp://x", "http://", "http://h:99999", "http://h/?k=v"])
def test_what_is_no_address(typed: str) -> None:
    with pytest.raises(NotServingError, match="is not an address like"):
        normal_base_url(typed)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(NotServingError) as refused:
        normal_base_url("http://user:secret@h")
    assert "secret" not in str(refused.value)


LOADED = {"value": "loaded", "args": ["llama-server", "--host", "127.0.0.1", "--port", "40123", "--alias", "big"]}


def test_router_of_llamacpp_is_asked_for_its_list_only(server: Any) -> None:
    states = [("big", LOADED), ("small", {"value": "unloaded", "args": []}), ("odd", {"value": "loaded", "args": 7})]
    entries = [{"id": name, "owned_by": "llamacpp", "status": status} for name, status in states]
    server.answers = {"/v1/models": (200, json.dumps({"data": entries}).encode())}
    identity = identify(server.url)
    assert [tuple(model) for model in identity.routed_models] == [
        ("big", "loaded", "http://127.0.0.1:40123"),
        ("small", "unloaded", None),
        ("odd", "loaded", None),
    ]
    assert server.asked == ["/v1/models"], "any other request may load a model, or keep it loaded"


def test_llama_swap_names_the_servers_behind_it(server: Any) -> None:
    running = [
        {"model": "big", "state": "ready", "proxy": "http://localhost:5800", "ttl": 120},
        {"model": "late", "state": "starting", "proxy": "http://localhost:5801"},
        {"model": "bad", "state": "ready", "proxy": "javascript:x"},
        {"model": "secret", "state": "ready", "proxy": "http://me:s3cr3t@host"},
    ]
    entries = [{"id": name, "owned_by": "llama-swap", "status": {"value": "x"}} for name in ("big", "small")]
    server.answers = {
        "/v1/models": (200, json.dumps({"data": entries}).encode()),
        "/running": (200, json.dumps({"running": running}).encode()),
    }
    assert [tuple(model) for model in identify(server.url).routed_models] == [
        ("big", "ready", "http://localhost:5800"),
        ("late", "starting", None),
        ("bad", "ready", None),
        ("secret", "ready", None),
        ("small", "not running", None),
    ]
    assert server.asked == ["/v1/models", "/running"]


def test_sleeping_server_is_not_woken(server: Any) -> None:
    server.answers = {
        "/v1/models": models("llamacpp"),
        "/metrics": (200, b"# HELP llamacpp:x y\n"),
        "/props": (200, b'{"build_info":"b1","is_sleeping":true}'),
        "/slots": (200, b"[]"),
    }
    assert identify(server.url).has_metrics and "/slots" not in server.asked
