"""An answer as bytes: JSON, CSV, an Arrow stream or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from storage.sandbox.job import Answer, arrow_stream

_FORMULA = r"^[=+\-@\t\r]"  # what a cell of a formula begins with
PART_ROWS = 5_000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def as_json(answer: Answer) -> bytes:
    """{"columns": [{"name", "type"}], "rows": [{...}], "row_count", "truncated", "elapsed_ms"}; times in ISO 8601."""
    table = answer.table
    said = {
        "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": table.to_pylist(),
        "row_count": table.num_rows,
        "truncated": answer.truncated,
        "elapsed_ms": round(answer.elapsed_ms, 1),
    }
    return orjson.dumps(said, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def as_csv(answer: Answer) -> bytes:
    """The parts as one."""
    return b"".join(csv_parts(answer))


def csv_parts(answer: Answer) -> Iterator[bytes]:
    """With a head, some thousand rows at a time; raises OverflowError before the first.

    Lists and structs are JSON within their cell, null is nothing, an empty text is "". A text that a spreadsheet would
    take for a formula gets a ' before it; numbers stay what they are.
    """
    columns = [_no_formula(_flat(column)) for column in answer.table.columns]
    names = _no_formula(pa.array(answer.table.column_names, pa.string())).to_pylist()
    flat = pa.Table.from_arrays(columns, names=names)
    return (_csv_of(flat.slice(at, PART_ROWS), at == 0) for at in range(0, max(flat.num_rows, 1), PART_ROWS))


def as_arrow(answer: Answer) -> bytes:
    """Arrow's IPC stream format, every column of the type that DuckDB gave it."""
    return bytes(arrow_stream(answer.table))


def as_parquet(answer: Answer) -> bytes:
    """Intervals as text, for which Parquet's own kind is not written by Arrow."""
    table = answer.table
    for place, field in enumerate(table.schema):
        if pa.types.is_interval(field.type):
            table = table.set_column(place, field.name, _flat(table.column(place)))
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


FORMATS: Mapping[str, Callable[[Answer], bytes]] = {
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
    """A column that CSV can hold."""
    kind = column.type
    if pa.types.is_nested(kind):
        return pa.array([None if v is None else _json(v) for v in column.to_pylist()], pa.string())
    if pa.types.is_temporal(kind) or pa.types.is_binary(kind) or isinstance(kind, pa.BaseExtensionType):
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
    """As it reads in JSON, without the quotes."""
    said: str = orjson.loads(_json(value))
    return said


def _plain(value: object) -> object:
    """What JSON has no kind for: decimals as numbers, bytes in hex, intervals after ISO 8601."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, pa.MonthDayNano):
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:g}S"
    return value.hex() if isinstance(value, bytes) else str(value)
