"""The configuration fields of the view `runs` by which runs can be grouped and filtered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from storage.queries.literals import as_name, quoted
from storage.queries.run_data import Queryable

NOT_STATED = "not stated"
NUMBER = re.compile(r"\d+(\.\d+)?")


class Field(NamedTuple):
    """One field; `sql` is an expression over `r`, a row of `runs` with its tags. A list has several values at once."""

    title: str
    sql: str
    is_number: bool = False
    is_list: bool = False


# Titles need not be unique: duplicates include the study's id.
STUDIES = (
    "SELECT study_id, CASE WHEN count(*) OVER (PARTITION BY title) = 1 THEN title "
    "ELSE concat(title, ' (', study_id, ')') END AS title FROM studies"
)


def _switch(column: str) -> str:
    return f"CASE WHEN r.{column} THEN 'on' WHEN NOT r.{column} THEN 'off' END"


FIELDS: Mapping[str, Field] = {
    "engine": Field("Engine", "r.engine"),
    "version": Field("Engine version", "concat_ws(' ', r.engine, r.engine_version)"),
    "model": Field("Model", "r.model"),
    "quantization": Field("Quantization", "r.quantization"),
    "kv": Field("KV cache dtype", "r.kv_cache_dtype"),
    "method": Field("Speculative method", "coalesce(r.speculative_method, r.speculative_method_reason)"),
    # Without speculation the draft length is known to be 0.
    "k": Field("Draft length k", "CASE WHEN NOT r.speculates THEN 0 ELSE r.speculative_num_tokens END", True),
    "context": Field("Context length, tokens", "r.max_model_len", True),
    "tp": Field("Tensor parallel", "r.tensor_parallel", True),
    "seqs": Field("Most requests at once", "r.max_num_seqs", True),
    "workload": Field("Workload", "coalesce(r.workload, 'watch')"),
    "machine": Field("Machine", "r.machine_id"),
    "tag": Field("Tag", "r.tags", is_list=True),
    "kind": Field("Kind", "r.kind"),
    "study": Field("Study", f"(SELECT any_value(title) FROM ({STUDIES}) s WHERE s.study_id = r.batch_id)"),
    "dtype": Field("Data type", "r.dtype"),
    "draft_model": Field("Draft model", "r.speculative_model"),
    "pp": Field("Pipeline parallel", "r.pipeline_parallel", True),
    "dp": Field("Data parallel", "r.data_parallel", True),
    "memory_share": Field("Share of GPU memory", "r.gpu_memory_fraction", True),
    "step_tokens": Field("Most tokens a step", "r.max_num_batched_tokens", True),
    "prefix_caching": Field("Prefix caching", _switch("prefix_caching")),
    "chunked_prefill": Field("Chunked prefill", _switch("chunked_prefill")),
    "eager": Field("Eager, no CUDA graphs", _switch("enforce_eager")),
    "tool_parser": Field("Tool call parser", "r.tool_call_parser"),
    "reasoning_parser": Field("Reasoning parser", "r.reasoning_parser"),
    "gpus": Field("GPUs asked for", "r.gpus"),
    "image": Field("Image", "r.image"),
    "launcher": Field("Run as", "r.launcher"),
    "env": Field("Environment variable", "r.environment", is_list=True),
    "flags": Field("Other flag", "list_sort(r.other_flags)", is_list=True),
}
USUAL_FIELDS = ("version", "model", "quantization", "kv", "method", "k", "context", "tp", "seqs", "study")
# Shown among the filters on request.
FURTHER_FIELDS = (
    *("dtype", "draft_model", "pp", "dp", "memory_share", "step_tokens", "prefix_caching", "chunked_prefill", "eager"),
    *("tool_parser", "reasoning_parser", "gpus", "image", "launcher", "env", "flags"),
)
FILTER_FIELDS = USUAL_FIELDS + FURTHER_FIELDS  # in RunFilter.fields
VALUES_SQL = """
SELECT r.run_id, {sql} AS value
FROM (
    SELECT runs.*, n.tags FROM runs LEFT JOIN run_notes_of($run_ids) n USING (run_id)
    WHERE list_contains($run_ids, run_id)
) r
"""


def has_one_of(name: str, values: Sequence[str]) -> str:
    """SQL for whether `r` has one of these texts in the field; 'not stated' is a valid text."""
    among = ", ".join(map(quoted, values))
    return f"list_has_any({_texts_of(name)}, [{among}])" if FIELDS[name].is_list else f"{_text_of(name)} IN ({among})"


def field_lists() -> str:
    """The columns of a SELECT over `r` with the texts of each field in FILTER_FIELDS."""
    return ", ".join(f"{_all_texts(name)} AS {as_name(name)}" for name in FILTER_FIELDS)


def fields_that_differ(row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the fields with more than one text in a row of these columns, sorted."""
    return {name: tuple(sorted(row[name], key=_sort_key)) for name in FILTER_FIELDS if len(row[name] or ()) > 1}


def _all_texts(name: str) -> str:
    is_list = FIELDS[name].is_list
    return f"list_distinct(flatten(list({_texts_of(name)})))" if is_list else f"list(DISTINCT {_text_of(name)})"


def _texts_of(name: str) -> str:
    """SQL for the texts of a list field."""
    sql = f"({FIELDS[name].sql})"
    return f"CASE WHEN len({sql}) > 0 THEN {sql} ELSE [{quoted(NOT_STATED)}] END"


def _text_of(name: str) -> str:
    return f"coalesce(nullif(({FIELDS[name].sql})::VARCHAR, ''), {quoted(NOT_STATED)})"


def _sort_key(text: str) -> tuple[bool, float, str]:
    """Sorts numbers numerically and 'not stated' last."""
    return text == NOT_STATED, float(text) if NUMBER.fullmatch(text) else inf, text


def field_values(store: Queryable, run_ids: Sequence[str], field: str) -> dict[str, list[str]]:
    """Return the texts of this field in each run; 'not stated' if there is no value."""
    rows = store.query(VALUES_SQL.format(sql=FIELDS[field].sql), {"run_ids": list(run_ids)}).to_pylist()
    by_run = {row["run_id"]: row["value"] for row in rows}
    return {run_id: _texts(by_run.get(run_id)) for run_id in run_ids}


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(item) for item in values if item not in (None, "")] or [NOT_STATED]
