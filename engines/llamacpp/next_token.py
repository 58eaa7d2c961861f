"""llama.cpp's own `/completion` with token ids: greedy tokens and the probabilities before sampling."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field, ValidationError

from domain import JsonValue
from engines.next_token import BadTokenAnswerError, LikelyToken, TokenAnswer, most_likely

PATH = "/completion"
CONTEXT_PATH = "/props"


class TokenProbability(BaseModel):
    """Entry of `top_logprobs`."""

    id: int
    logprob: float


class StepProbabilities(BaseModel):
    """Entry of `completion_probabilities`: one generated token."""

    top_logprobs: list[TokenProbability] = Field(default_factory=list)


class PromptTimings(BaseModel):
    """`timings`: prompt tokens from the slot's cache, and those computed."""

    cache_n: int | None = None
    prompt_n: int | None = None


class Completion(BaseModel):
    """Answer of `/completion`."""

    tokens: list[int]
    tokens_evaluated: int | None = None
    timings: PromptTimings = PromptTimings()
    completion_probabilities: list[StepProbabilities] = Field(default_factory=list)


class GenerationSettings(BaseModel):
    """`default_generation_settings` of `/props`: the context of one slot."""

    n_ctx: int | None = None


class ServerProps(BaseModel):
    """Answer of `/props`."""

    default_generation_settings: GenerationSettings = GenerationSettings()


def request_body(model: str, token_ids: Sequence[int], max_tokens: int, top: int) -> dict[str, JsonValue]:
    """Return the request; `post_sampling_probs` stays off, so that the probabilities are the model's."""
    return {
        "model": model,
        "prompt": list(token_ids),
        "n_predict": max_tokens,
        "n_probs": top,
        "temperature": 0.0,
        "samplers": ["temperature"],  # no penalty or other setting of the server changes the choice
        "cache_prompt": True,
        "return_tokens": True,
        "ignore_eos": max_tokens > 1,  # it also changes the probabilities, so it is not used for one token
        "stream": False,
    }


def parse_answer(data: bytes) -> TokenAnswer:
    """Parse the answer; raises BadTokenAnswerError."""
    try:
        completion = Completion.model_validate_json(data)
    except ValidationError as error:
        raise BadTokenAnswerError(f"not an answer of {PATH}: {data[:200]!r}") from error
    steps = completion.completion_probabilities
    likely = most_likely(LikelyToken(token.id, token.logprob) for step in steps[:1] for token in step.top_logprobs)
    return TokenAnswer(tuple(completion.tokens), likely, completion.tokens_evaluated, completion.timings.cache_n)


def parse_context(data: bytes) -> int | None:
    """Return the context of one slot."""
    try:
        return ServerProps.model_validate_json(data).default_generation_settings.n_ctx
    except ValidationError:
        return None
