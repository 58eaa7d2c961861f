"""UTF-16 by its mark becomes UTF-8, wherever a read ends; other bytes stay."""

from __future__ import annotations

from io import BytesIO

import pytest

from machine.text_encoding import as_utf8, utf8_chunks

TEXT = "Größe: 4 GiB ✓\r\n🙂\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_as_utf_8(encoding: str, size: int) -> None:
    data = f"\ufeff{TEXT}".encode(encoding)
    if size > 1:
        assert b"".join(utf8_chunks(BytesIO(data), size)) == TEXT.encode()
    with as_utf8(BytesIO(data)) as file:
        assert file.read() == TEXT.encode()


@pytest.mark.parametrize("data", [b"", b"\xff", TEXT.encode(), b"\xef\xbb\xbfa", b"\xffa"])
def test_other_bytes_stay(data: bytes) -> None:
    assert b"".join(utf8_chunks(BytesIO(data), 2)) == data
    with as_utf8(BytesIO(data)) as file:
        assert file.read() == data


def test_half_a_character_is_replaced() -> None:
    assert b"".join(utf8_chunks(BytesIO("\ufeffa".encode("utf-16-le") + b"b"))) == "a\ufffd".encode()
