"""Which configurations' servers came up on which GPUs, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.config_diff import chips
from analysis.comparison.model_names import base_name
from analysis.decide.compatibility import Place, Stated, as_one
from reference.published import load_published
from reference.statements import read_table
from reports.runs.run_report import engine_title_of
from storage.ask import run_queries
from storage.ask.queries import Asked

NO_GPU = "no GPU"


def compatibility(store: Asked, run_ids: Sequence[str] | None) -> list[Place]:
    """By these runs, or all, as far as Pitwall launched them and they came up or failed."""
    return as_one(map(_place, run_queries.compatibility(store, run_ids)))


def published_places() -> list[Stated]:
    """What the documents say works where, in their order: each about the first configuration of its document."""
    found = [row for row in read_table("validations") if row["kind"] == "compatibility"]
    return [_stated(row) for row in found]


def _stated(row: Mapping[str, str]) -> Stated:
    about = next(one for one in load_published().values() if one.source.id == row["source"])
    works = {"true": True, "false": False, "": None}[row["is_pass"]]
    rest = (row["memory"], row["max_context"], row["result"])
    return Stated(about.label, row["subject"], works, *rest, about.source.title, int(row["line"]))


def _place(row: Mapping[str, Any]) -> Place:
    rest = (row["came_up"], row["starts"], row["cause"], row["cause_at"])
    return Place(_configuration(row), _gpu(row["gpus"]), *rest)


def _configuration(row: Mapping[str, Any]) -> str:
    """'Qwen3-32B · vLLM 0.21 · NVFP4 · MTP 4'."""
    model = [base_name(row["model"])] if row["model"] else []
    drafting = {"method": row["speculative_method"], "num_tokens": row["speculative_num_tokens"]}
    config = {**row, "speculative": drafting if row["speculates"] else None}
    return " · ".join([*model, *chips(config, engine_title_of(row["engine"]))])


def _gpu(names: Sequence[str] | None) -> str | None:
    """'2 x NVIDIA H100'; None where nobody looked."""
    if names is None:
        return None
    kinds = list(dict.fromkeys(names))
    return ", ".join(f"{names.count(kind)} x {kind}" if names.count(kind) > 1 else kind for kind in kinds) or NO_GPU
