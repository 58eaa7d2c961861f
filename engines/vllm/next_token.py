"""vLLM's `/v1/completions` with token ids: greedy tokens as ids and their log-probabilities.

The log-probabilities are the model's, before sampling, unless the server has another `--logprobs-mode`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field, ValidationError

from domain import JsonValue
from engines.model_list import context_of_models
from engines.next_token import BadTokenAnswerError, LikelyToken, TokenAnswer, most_likely

PATH = "/v1/completions"
CONTEXT_PATH = "/v1/models"
PLACEHOLDER = "token_id:"  # begins a token that is returned as its id


class CompletionLogprobs(BaseModel):
    """`logprobs` of a choice: the generated tokens, and the likely ones at each."""

    tokens: list[str]
    top_logprobs: list[dict[str, float] | None] | None = None


class CompletionChoice(BaseModel):
    """Entry of `choices`."""

    logprobs: CompletionLogprobs


class CachedPromptTokens(BaseModel):
    """`prompt_tokens_details`, with --enable-prompt-tokens-details."""

    cached_tokens: int | None = None


class CompletionUsage(BaseModel):
    """`usage`: the prompt's tokens."""

    prompt_tokens: int | None = None
    prompt_tokens_details: CachedPromptTokens | None = None


class CompletionAnswer(BaseModel):
    """Answer of `/v1/completions`."""

    choices: list[CompletionChoice] = Field(min_length=1)
    usage: CompletionUsage = CompletionUsage()


def request_body(model: str, token_ids: Sequence[int], max_tokens: int, top: int) -> dict[str, JsonValue]:
    """Return the request; without likely tokens the generated one's probability is requested, which has its id."""
    return {
        "model": model,
        "prompt": list(token_ids),
        "max_tokens": max_tokens,
        "logprobs": top,
        "return_tokens_as_token_ids": True,
        "temperature": 0.0,
        "repetition_penalty": 1.0,  # the server's defaults may come from the model's generation_config.json
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "ignore_eos": True,
        "stream": False,
    }


def parse_answer(data: bytes) -> TokenAnswer:
    """Parse the answer; raises BadTokenAnswerError."""
    try:
        answer = CompletionAnswer.model_validate_json(data)
        logprobs = answer.choices[0].logprobs
        generated = tuple(map(_token_id, logprobs.tokens))
        first_step = (logprobs.top_logprobs or [None])[0] or {}
        likely = most_likely(LikelyToken(_token_id(token), logprob) for token, logprob in first_step.items())
    except (ValidationError, ValueError) as error:
        raise BadTokenAnswerError(f"an answer without tokens as ids: {data[:200]!r}") from error
    details = answer.usage.prompt_tokens_details
    return TokenAnswer(generated, likely, answer.usage.prompt_tokens, details.cached_tokens if details else None)


def _token_id(token: str) -> int:
    """Return the id of a token written as 'token_id:7'; raises ValueError for any other."""
    if not token.startswith(PLACEHOLDER):
        raise ValueError(f"{token!r} is no token id")
    return int(token.removeprefix(PLACEHOLDER))


def parse_context(data: bytes) -> int | None:
    """Return `max_model_len` of the first model."""
    return context_of_models(data)
