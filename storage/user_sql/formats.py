"""Encodes query results as JSON, CSV, an Arrow stream or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from storage.sandbox.job import SqlAnswer, arrow_stream

_FORMULA = r"^[=+\-@\t\r]"  # first characters of a spreadsheet formula
PART_ROWS = 5_000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def as_json(answer: SqlAnswer) -> bytes:
    """{"columns": [{"name", "type"}], "rows": [{...}], "row_count", "truncated", "elapsed_ms"}; times in ISO 8601.

    Raises OverflowError for a date that Python cannot express.
    """
    table = answer.table
    body = {
        "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": table.to_pylist(),
        "row_count": table.num_rows,
        "truncated": answer.truncated,
        "elapsed_ms": round(answer.elapsed_ms, 1),
    }
    return orjson.dumps(body, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def as_csv(answer: SqlAnswer) -> bytes:
    """All of `csv_parts` at once."""
    return b"".join(csv_parts(answer))


def csv_parts(answer: SqlAnswer) -> Iterator[bytes]:
    """CSV with a header, in parts of PART_ROWS rows; raises OverflowError before the first part.

    Lists and structs are JSON in their cell, null is empty, an empty string is "". A string that a spreadsheet would
    treat as a formula gets a leading '; numbers stay unchanged.
    """
    columns = [_no_formula(_flat(column)) for column in answer.table.columns]
    names = _no_formula(pa.array(answer.table.column_names, pa.string())).to_pylist()
    flat = pa.Table.from_arrays(columns, names=names)
    return (_csv_of(flat.slice(start, PART_ROWS), start == 0) for start in range(0, max(flat.num_rows, 1), PART_ROWS))


def as_arrow(answer: SqlAnswer) -> bytes:
    """Arrow's IPC stream format, with the column types of DuckDB."""
    return bytes(arrow_stream(answer.table))


def as_parquet(answer: SqlAnswer) -> bytes:
    """Parquet; intervals become text, because Arrow cannot write Parquet's interval type."""
    table = answer.table
    for index, field in enumerate(table.schema):
        if pa.types.is_interval(field.type):
            table = table.set_column(index, field.name, _flat(table.column(index)))
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


FORMATS: Mapping[str, Callable[[SqlAnswer], bytes]] = {
    "application/json": as_json,
    "text/csv": as_csv,
    "application/vnd.apache.arrow.stream": as_arrow,
    "application/vnd.apache.parquet": as_parquet,
}


def _csv_of(rows: pa.Table, has_head: bool) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows, sink, pyarrow.csv.WriteOptions(include_header=has_head))
    return bytes(sink.getvalue())


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column in a type that CSV supports."""
    data_type = column.type
    if pa.types.is_nested(data_type):
        return pa.array([None if v is None else _json(v) for v in column.to_pylist()], pa.string())
    if pa.types.is_temporal(data_type) or pa.types.is_binary(data_type) or isinstance(data_type, pa.BaseExtensionType):
        return pa.array([None if v is None else _text(v) for v in column.to_pylist()], pa.string())
    return column


def _no_formula(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    is_formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(pc.fill_null(is_formula, False), pc.binary_join_element_wise("'", column, ""), column)


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def _text(value: Any) -> str:
    """The value as in JSON, without quotes."""
    text: str = orjson.loads(_json(value))
    return text


def _plain(value: object) -> object:
    """JSON values for other types: decimals as numbers, bytes in hex, intervals in ISO 8601."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, pa.MonthDayNano):
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:g}S"
    return value.hex() if isinstance(value, bytes) else str(value)
