"""The context length that vLLM and SGLang report in `/v1/models`."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError


class ServedModel(BaseModel):
    """Entry of `/v1/models` with its context length."""

    max_model_len: int | None = None


class ServedModels(BaseModel):
    """Answer of `/v1/models`."""

    data: list[ServedModel]


def context_of_models(data: bytes) -> int | None:
    """Return the context length of the first model; None if it is not reported."""
    try:
        models = ServedModels.model_validate_json(data).data
    except ValidationError:
        return None
    return models[0].max_model_len if models else None
