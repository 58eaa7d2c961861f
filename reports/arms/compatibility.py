"""Compatibility of configurations with GPUs: servers that came up or failed, and published statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.config_diff import chips
from analysis.comparison.model_names import base_name
from analysis.decide.compatibility import GpuCompatibility, StatedCompatibility, merge_duplicates
from reference.published import load_published
from reference.statements import read_table
from reports.runs.run_report import engine_title_of
from storage.queries import run_queries
from storage.queries.run_data import Queryable

NO_GPU = "no GPU"


def compatibility(store: Queryable, run_ids: Sequence[str] | None) -> list[GpuCompatibility]:
    """Return the compatibility shown by these runs, or by all; only launched runs that came up or failed count."""
    return merge_duplicates(map(_gpu_compatibility, run_queries.compatibility(store, run_ids)))


def published_compatibility() -> list[StatedCompatibility]:
    """Return the documents' compatibility statements in order, each about the first configuration of its document."""
    rows = [row for row in read_table("validations") if row["kind"] == "compatibility"]
    return [_stated_compatibility(row) for row in rows]


def _stated_compatibility(row: Mapping[str, str]) -> StatedCompatibility:
    configuration = next(published for published in load_published().values() if published.source.id == row["source"])
    works = {"true": True, "false": False, "": None}[row["is_pass"]]
    details = (row["memory"], row["max_context"], row["result"])
    return StatedCompatibility(
        configuration.label, row["subject"], works, *details, configuration.source.title, int(row["line"])
    )


def _gpu_compatibility(row: Mapping[str, Any]) -> GpuCompatibility:
    outcome = (row["came_up"], row["starts"], row["cause"], row["cause_at"])
    return GpuCompatibility(_configuration(row), _gpu(row["gpus"]), *outcome)


def _configuration(row: Mapping[str, Any]) -> str:
    """'Qwen3-32B · vLLM 0.21 · NVFP4 · MTP 4'."""
    model = [base_name(row["model"])] if row["model"] else []
    drafting = {"method": row["speculative_method"], "num_tokens": row["speculative_num_tokens"]}
    config = {**row, "speculative": drafting if row["speculates"] else None}
    return " · ".join([*model, *chips(config, engine_title_of(row["engine"]))])


def _gpu(names: Sequence[str] | None) -> str | None:
    """'2 x NVIDIA H100'; None if the GPUs are unknown."""
    if names is None:
        return None
    kinds = list(dict.fromkeys(names))
    return ", ".join(f"{names.count(kind)} x {kind}" if names.count(kind) > 1 else kind for kind in kinds) or NO_GPU
