"""Requests of next tokens after token ids, and their answers, in each engine's own API.

llama.cpp's answer is a real one, shortened (xllamacpp 2026.10.11549). vLLM's and SGLang's are written by hand after
the sources of vLLM 0.32.0 and SGLang 0.5: no server answered them.
"""

from __future__ import annotations

import json

import pytest

from engines import BY_NAME
from engines.next_token import BadTokenAnswerError, LikelyToken, NextTokenApi, TokenAnswer

LLAMACPP = {
    "index": 0, "content": " before", "tokens": [297], "tokens_predicted": 1, "tokens_evaluated": 260,
    "tokens_cached": 260, "timings": {"cache_n": 259, "prompt_n": 1},
    "completion_probabilities": [
        {
            "id": 297, "token": " before", "logprob": -0.4925,
            "top_logprobs": [
                {"id": 297, "token": " before", "logprob": -0.4925}, {"id": 301, "token": " while", "logprob": -2.0928},
            ],
        }
    ],
}  # fmt: skip
VLLM = {
    "choices": [
        {
            "index": 0, "text": " before", "finish_reason": "length",
            "logprobs": {
                "tokens": ["token_id:297"], "token_logprobs": [-0.4925], "text_offset": [0],
                "top_logprobs": [{"token_id:301": -2.0928, "token_id:297": -0.4925, "token_id:5": -9999.0}],
            },
        }
    ],
    "usage": {"prompt_tokens": 260, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 259}},
}  # fmt: skip
SGLANG = {
    "text": " before", "output_ids": [297],
    "meta_info": {
        "prompt_tokens": 260, "cached_tokens": 259, "completion_tokens": 1,
        "output_token_logprobs": [[-0.4925, 297, None]],
        "output_top_logprobs": [[[-0.4925, 297, None], [-2.0928, 301, None]]],
    },
}  # fmt: skip
# Recorded from SGLang 0.5.23 on a CPU: a random GPT-2, two tokens after six, asked for the second time.
RECORDED_SGLANG = {
    "text": "ll", "output_ids": [77, 77],
    "meta_info": {
        "id": "9955b592d94347c79a59495e2a1446b8", "finish_reason": {"type": "length", "length": 2}, "prompt_tokens": 6,
        "weight_version": "default", "num_retractions": 0, "input_token_logprobs": [],
        "output_token_logprobs": [[-5.447085380554199, 77, None], [-5.689385890960693, 77, None]],
        "output_token_logprobs_length": 2, "input_top_logprobs": [],
        "output_top_logprobs": [
            [[-5.447085380554199, 77, None], [-5.806460380554199, 48, None], [-5.818179130554199, 389, None]],
            [[-5.689385890960693, 77, None], [-5.837823390960693, 317, None], [-5.884698390960693, 139, None]],
        ],
        "reasoning_tokens": 0, "completion_tokens": 2, "cached_tokens": 5,
        "weight_versions": [{"version": "default", "start": 0, "end": 2}],
        "cached_tokens_details": {"device": 5, "host": 0}, "dp_rank": None, "e2e_latency": 0.018786347000059322,
    },
}  # fmt: skip
ANSWERS = {"llamacpp": LLAMACPP, "vllm": VLLM, "sglang": SGLANG}
EXPECTED = TokenAnswer((297,), (LikelyToken(297, -0.4925), LikelyToken(301, -2.0928)), 260, 259)


def api_of(engine: str) -> NextTokenApi:
    api = BY_NAME[engine].next_token
    assert api is not None
    return api


@pytest.mark.parametrize("engine", ANSWERS)
def test_answer_has_tokens_and_log_probabilities(engine: str) -> None:
    assert api_of(engine).parse_answer(json.dumps(ANSWERS[engine]).encode()) == EXPECTED


def test_recorded_answer_of_sglang() -> None:
    answer = api_of("sglang").parse_answer(json.dumps(RECORDED_SGLANG).encode())
    likely = (LikelyToken(77, -5.447085380554199), LikelyToken(48, -5.806460380554199))
    assert answer.token_ids == (77, 77) and answer.first_step[:2] == likely and len(answer.first_step) == 3
    assert (answer.prompt_tokens, answer.cached_tokens) == (6, 5)


@pytest.mark.parametrize("engine", ANSWERS)
@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"choices": [{"logprobs": {"tokens": [" before"]}}]}', b"\xff"])
def test_other_answers_are_refused(engine: str, data: bytes) -> None:
    with pytest.raises(BadTokenAnswerError):
        api_of(engine).parse_answer(data)


@pytest.mark.parametrize(
    ("engine", "path", "fields"),
    [
        ("llamacpp", "/completion", {"prompt": [5, 6], "n_predict": 1, "n_probs": 20, "ignore_eos": False}),
        ("vllm", "/v1/completions", {"prompt": [5, 6], "max_tokens": 1, "logprobs": 20, "model": "m"}),
        ("sglang", "/generate", {"input_ids": [5, 6], "return_logprob": True, "top_logprobs_num": 20}),
    ],
)
def test_request_has_token_ids_and_is_greedy(engine: str, path: str, fields: dict[str, object]) -> None:
    api = api_of(engine)
    body = api.request_body("m", (5, 6), 1, 20)
    assert (api.PATH, {name: body[name] for name in fields}) == (path, fields)
    assert {**body, **(body.get("sampling_params") or {})}["temperature"] == 0.0


def test_context_length_is_that_of_one_request() -> None:
    props = b'{"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4}'
    models = b'{"data": [{"id": "m", "max_model_len": 2048}]}'
    assert api_of("llamacpp").parse_context(props) == 4096
    assert api_of("vllm").parse_context(models) == api_of("sglang").parse_context(models) == 2048
    assert [api_of(engine).parse_context(b"[]") for engine in ANSWERS] == [None] * 3
