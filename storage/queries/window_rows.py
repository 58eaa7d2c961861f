"""The windows of a run as columns: a day of windows of 2 s takes 5 MB so, and five times as much as tuples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.windows import NUMBERS, DecodingStretch, Floats, Stretches, Window, WindowColumns

TEXTS = ("activity", "definition")
TEXT = pa.dictionary(pa.int32(), pa.string())
STRETCH = pa.struct([(name, pa.float64()) for name in DecodingStretch._fields])
TYPES = dict.fromkeys(Window._fields, pa.float64()) | dict.fromkeys(TEXTS, TEXT)
WINDOW = pa.struct(list((TYPES | {"is_whole": pa.bool_(), "bridged": STRETCH}).items()))


class WindowRows(Sequence[Window]):
    """Windows in order; each becomes a `Window` when it is read, so read them once."""

    def __init__(self, rows: pa.StructArray) -> None:
        """rows: structs with at least the fields of `Window`."""
        columns = [_cast(rows.field(field.name), field.type) for field in WINDOW]
        self._rows = pa.StructArray.from_arrays(columns, fields=list(WINDOW))

    @classmethod
    def of(cls, windows: Iterable[Window]) -> WindowRows:
        """Return these windows as columns."""
        plain = [{**window._asdict(), "bridged": window.bridged and window.bridged._asdict()} for window in windows]
        types = [(field.name, pa.string() if field.name in TEXTS else field.type) for field in WINDOW]
        return cls(pa.array(plain, pa.struct(types)))

    @classmethod
    def sorted(cls, rows: pa.StructArray) -> WindowRows:
        """Return windows that come in any order."""
        return cls(rows.take(pc.sort_indices(rows.field("since_ready_s"))))

    @classmethod
    def from_bytes(cls, content: bytes) -> WindowRows:
        """Read what `to_bytes` wrote; raises ValueError for anything else."""
        try:
            table = pa.ipc.open_stream(content).read_all()
            table.validate(full=True)
            return cls(table.to_struct_array().combine_chunks())
        except (pa.ArrowException, KeyError, OSError) as error:
            raise ValueError(f"not the windows of a run: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the columns as an Arrow stream."""
        batch, sink = pa.RecordBatch.from_struct_array(self._rows), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return bytes(sink.getvalue())

    def columns(self) -> WindowColumns:
        """Return the columns that a summary needs; most are not copied."""
        activity, definition = self._rows.field("activity"), self._rows.field("definition")
        bridged = self._rows.field("bridged").drop_null()
        return WindowColumns(
            **{name: _floats(self._rows.field(name)) for name in NUMBERS},
            is_whole=np.asarray(self._rows.field("is_whole").fill_null(False)),
            is_decoding=np.asarray(pc.equal(activity, "active").fill_null(False)),
            definition=definition[0].as_py() if len(definition) else None,
            bridged=Stretches(*(_floats(bridged.field(name)) for name in Stretches._fields)),
        )

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Window: ...

    @overload
    def __getitem__(self, index: slice) -> list[Window]: ...

    def __getitem__(self, index: int | slice) -> Window | list[Window]:
        positions = range(len(self))[index]
        if isinstance(positions, int):
            return next(iter(_windows(self._rows.slice(positions, 1))))
        return list(_windows(self._rows.take(pa.array(positions, pa.int64()))))

    def __iter__(self) -> Iterator[Window]:
        return _windows(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if type_ == TEXT and not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    return column if column.type == type_ else column.cast(type_)


def _windows(rows: pa.StructArray) -> Iterator[Window]:
    """Yield the windows column by column: a dictionary per row takes ten times as long."""
    columns = [_values(rows.field(name)) for name in Window._fields[:-1]]
    bridged = [stretch and DecodingStretch(**stretch) for stretch in rows.field("bridged").to_pylist()]
    return map(Window._make, zip(*columns, bridged, strict=True))


def _floats(column: pa.Array) -> Floats:
    """Return a column with NaN for null."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _values(column: pa.Array) -> list[Any]:
    """Return a column with None for null; of numbers, to_pylist makes an object in between."""
    if pa.types.is_dictionary(column.type):
        return _texts(column)
    if not pa.types.is_floating(column.type):
        values: list[Any] = column.to_pylist()
        return values
    numbers: list[float] = column.to_numpy(zero_copy_only=False).tolist()
    if not column.null_count:
        return numbers
    return [
        number if is_valid else None for number, is_valid in zip(numbers, column.is_valid().to_pylist(), strict=True)
    ]


def _texts(column: pa.DictionaryArray) -> list[str | None]:
    """Return the texts of a column; equal ones are one object."""
    texts = column.dictionary.to_pylist()
    return [None if place is None else texts[place] for place in column.indices.to_pylist()]
