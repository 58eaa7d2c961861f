"""SGLang's own `/generate` with token ids: greedy tokens and their log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field, ValidationError

from domain import JsonValue
from engines.model_list import context_of_models
from engines.next_token import BadTokenAnswerError, LikelyToken, TokenAnswer, most_likely

PATH = "/generate"
CONTEXT_PATH = "/v1/models"
LoggedToken = tuple[float | None, int, str | None]  # log-probability, id, text


class MetaInfo(BaseModel):
    """`meta_info`: one entry of each list per generated token."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_token_logprobs: list[LoggedToken] = Field(min_length=1)
    output_top_logprobs: list[list[LoggedToken] | None] | None = None


class GeneratedAnswer(BaseModel):
    """Answer of `/generate`."""

    meta_info: MetaInfo


def request_body(model: str, token_ids: Sequence[int], max_tokens: int, top: int) -> dict[str, JsonValue]:
    """Return the request. `/generate` takes no model name: its server has one model."""
    return {
        "input_ids": list(token_ids),
        "return_logprob": True,
        "top_logprobs_num": top,
        "sampling_params": {
            "max_new_tokens": max_tokens,
            "temperature": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "ignore_eos": True,
        },
        "stream": False,
    }


def parse_answer(data: bytes) -> TokenAnswer:
    """Parse the answer; raises BadTokenAnswerError."""
    try:
        meta = GeneratedAnswer.model_validate_json(data).meta_info
    except ValidationError as error:
        raise BadTokenAnswerError(f"an answer without log-probabilities: {data[:200]!r}") from error
    first_step = (meta.output_top_logprobs or [None])[0] or []
    likely = most_likely(LikelyToken(token_id, logprob) for logprob, token_id, _ in first_step if logprob is not None)
    generated = tuple(token_id for _, token_id, _ in meta.output_token_logprobs)
    return TokenAnswer(generated, likely, meta.prompt_tokens, meta.cached_tokens)


def parse_context(data: bytes) -> int | None:
    """Return `max_model_len` of the first model."""
    return context_of_models(data)
